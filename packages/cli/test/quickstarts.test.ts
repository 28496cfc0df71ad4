// Needs: bash, curl
/** The commands of the quickstarts and of the tutorial, run in order against a server. */

import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Server } from "@countersign/testing/countersign";
import { playGuide } from "./support/play-guide.ts";

const ROOT = join(import.meta.dirname, "../../..");

/** Settings of coding agents go to the folder of the test. */
async function ownHome(_: Server, folder: string): Promise<NodeJS.ProcessEnv> {
  return { HOME: folder };
}

/** Programs of the page find the SDK as they do in a checkout. */
async function withPackages(_: Server, folder: string): Promise<NodeJS.ProcessEnv> {
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return {};
}

for (const name of ["http-client", "operator", "claude-code", "codex", "mcp-client"]) {
  test(`docs/quickstart/${name}.md: its commands print what the page states`, async (t) => {
    await playGuide(t, `quickstart/${name}.md`, ownHome);
  });
}

test("docs/tutorials/refund-agent.md: its commands print what the page states", async (t) => {
  await playGuide(t, "tutorials/refund-agent.md", withPackages);
});
