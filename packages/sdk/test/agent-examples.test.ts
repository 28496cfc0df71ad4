/**
 * The examples of agents, run as they stand against a real provider; and the guide, which shows
 * parts of them.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Child, temporaryFolder } from "countersign/test/support/child.ts";
import { startAgentScene } from "./support/agent-scene.ts";

const ROOT = join(import.meta.dirname, "../../..");
const GUIDE = join(ROOT, "docs/guides/gate-tools-in-a-framework.md");
const EXAMPLES = ["ai-sdk", "openai-agents", "langchain", "mastra", "mcp"];

function exampleOf(name: string): string {
  return join(ROOT, "examples/agents", `${name}.ts`);
}

test("[ours.sdk.documented] what the guide shows of each example is in it, letter for letter", () => {
  const blocks = [...readFileSync(GUIDE, "utf8").matchAll(/^```ts (\S+)\n(.*?)^```$/gms)];
  const shown = new Set<string>();
  for (const [, name = "", text = ""] of blocks) {
    const source = readFileSync(exampleOf(name.replace(/\.ts$/, "")), "utf8");
    assert.ok(source.includes(text), `${name}: ${text}`);
    shown.add(name);
  }
  assert.deepEqual([...shown].sort(), EXAMPLES.map((name) => `${name}.ts`).sort());
});

test("[ours.sdk.documented] each example of an agent waits for its approval, and says why not", async (t) => {
  const scene = await startAgentScene(t);
  for (const name of EXAMPLES) {
    const folder = temporaryFolder(t);
    const play = (runId: string) => start(t, name, folder, runId, scene);
    const paid = play("first");
    await scene.decideNext("approve");
    assert.equal(await paid, "500 back for A-1\n", name);
    const denied = play("second");
    await scene.decideNext("deny", { note: "Not that customer." });
    assert.equal(await denied, "The provider denied this call: Not that customer.\n", name);
    // A server of MCP has a run of its own each time that it starts.
    if (name === "mcp") continue;
    assert.match(await play("first"), /^This call was approved and started once before/, name);
  }
});

async function start(
  t: TestContext,
  name: string,
  folder: string,
  runId: string,
  { url, token }: { readonly url: string; readonly token: string },
): Promise<string> {
  const command = [process.execPath, "--no-warnings", exampleOf(name)];
  const about = { PROVIDER_URL: url, INSTANCE_TOKEN: token, RUN_ID: runId };
  const cache = { NODE_COMPILE_CACHE: join(folder, "cache") };
  const env = { ...process.env, ...cache, ...about };
  const { code, stdout, stderr } = await new Child(t, command, { cwd: folder, env }).ends();
  assert.equal(code, 0, `${name}: ${stderr}`);
  return stdout;
}
