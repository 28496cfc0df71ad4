// Needs: frameworks
// Process: own
/**
 * Starts each agent example from its own folder, twice per run, against a real provider. Compares
 * the guide, which shows parts of the examples, with them.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { startAgentScene } from "@countersign/testing/agent-scene";
import { Child, fileOwner } from "@countersign/testing/child";

const ROOT = join(import.meta.dirname, "../../..");
const GUIDE = join(ROOT, "docs/guides/gate-tools-in-a-framework.md");
const AGENTS = join(ROOT, "examples/agents");
const EXAMPLES = readdirSync(AGENTS);

// One agent runs all examples, so that their run ids must differ.
const scene = await startAgentScene(fileOwner());

/** @returns the output of `npm start` in the folder of the example */
async function start(t: TestContext, name: string, args: readonly string[] = []): Promise<string> {
  const command = ["npm", "start", "--silent", "--", ...args];
  const env = { ...process.env, ...scene.environment, npm_config_update_notifier: "false" };
  const child = new Child(t, command, { cwd: join(AGENTS, name), env, isGroup: true });
  const { code, stdout, stderr } = await child.ends();
  assert.equal(code, 0, stderr);
  return stdout;
}

test("[ours.sdk.documented] each snippet of the guide is an exact part of its example", () => {
  const blocks = [...readFileSync(GUIDE, "utf8").matchAll(/^```ts (\S+)\n(.*?)^```$/gms)];
  const shown = new Set<string>();
  for (const [, file = "", text = ""] of blocks) {
    const source = readFileSync(join(AGENTS, file), "utf8");
    assert.ok(source.includes(text), `${file}: ${text}`);
    shown.add(file);
  }
  assert.deepEqual([...shown].sort(), EXAMPLES.map((name) => `${name}/main.ts`).sort());
});

for (const name of EXAMPLES) {
  test(`[ours.examples.twice] examples/agents/${name}: a second start does not run the tool again, and a denied run prints the note`, async (t) => {
    const before = await scene.countRequests();
    const approved = start(t, name);
    // An example that stops early prints the reason.
    await Promise.race([scene.decideNext("approve"), approved]);
    assert.equal(await approved, `Run ${name}-1: 500 back for A-1\n`);
    assert.match(await start(t, name), /^Run \S+-1: The approval of this call was used before/);
    const denied = start(t, name, [`${name}-2`]);
    await Promise.race([scene.decideNext("deny", { note: "Not that customer." }), denied]);
    assert.equal(await denied, `Run ${name}-2: This call was denied: Not that customer.\n`);
    assert.equal(await scene.countRequests(), before + 2);
  });
}
