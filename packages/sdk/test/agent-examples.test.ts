// Needs: frameworks
/**
 * Runs the unchanged agent examples against a real provider, and compares them with the guide,
 * which shows parts of them.
 */

import assert from "node:assert/strict";
import { cpSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
// Loaded before any example is waited for: on a busy machine that takes long.
import "@mastra/core/agent";
import "@modelcontextprotocol/client";
import "@modelcontextprotocol/sdk/client/index.js";
import "@modelcontextprotocol/server";
import "@openai/agents/testing";
import "ai/test";
import "langchain";
import { startAgentScene } from "@countersign/testing/agent-scene";
import { temporaryFolder } from "@countersign/testing/child";

const ROOT = join(import.meta.dirname, "../../..");
const GUIDE = join(ROOT, "docs/guides/gate-tools-in-a-framework.md");
const EXAMPLES = ["ai-sdk", "openai-agents", "langchain", "mastra", "mcp", "mcp-version-2"];

function exampleOf(name: string): string {
  return join(ROOT, "examples/agents", `${name}.ts`);
}

test("[ours.sdk.documented] each snippet of the guide is an exact part of its example", () => {
  const blocks = [...readFileSync(GUIDE, "utf8").matchAll(/^```ts (\S+)\n(.*?)^```$/gms)];
  const shown = new Set<string>();
  for (const [, name = "", text = ""] of blocks) {
    const source = readFileSync(exampleOf(name.replace(/\.ts$/, "")), "utf8");
    assert.ok(source.includes(text), `${name}: ${text}`);
    shown.add(name);
  }
  assert.deepEqual([...shown].sort(), EXAMPLES.map((name) => `${name}.ts`).sort());
});

test("[ours.sdk.documented] each example of an agent waits for its approval, and prints the reason of a refusal", async (t) => {
  const scene = await startAgentScene(t);
  // The examples keep their store beside themselves.
  const folder = temporaryFolder(t);
  const agents = join(folder, "examples/agents");
  cpSync(join(ROOT, "examples/agents"), agents, { recursive: true });
  for (const modules of ["node_modules", "examples/node_modules"]) {
    symlinkSync(join(ROOT, modules), join(folder, modules));
  }
  Object.assign(process.env, scene.environment);
  for (const name of EXAMPLES) {
    const file = join(agents, `${name}.ts`);
    const paid = play(t, file, `${name} 1`);
    // An example that stops early prints the reason.
    await Promise.race([scene.decideNext("approve"), paid]);
    assert.equal(await paid, "500 back for A-1", name);
    const denied = play(t, file, `${name} 2`);
    await Promise.race([scene.decideNext("deny", { note: "Not that customer." }), denied]);
    assert.equal(await denied, "This call was denied: Not that customer.", name);
    // A server of MCP has a run of its own each time that it starts.
    if (name.startsWith("mcp")) continue;
    assert.match(await play(t, file, `${name} 1`), /^The approval of this call was used before/);
  }
});

let plays = 0;

/** The script runs anew each time that it is imported under another address. */
async function play(t: TestContext, file: string, runId: string): Promise<string> {
  process.env.RUN_ID = runId;
  const log = t.mock.method(console, "log", () => {});
  await import(`${pathToFileURL(file).href}?play=${++plays}`);
  log.mock.restore();
  return log.mock.calls.map(({ arguments: printed }) => printed.join(" ")).join("\n");
}
