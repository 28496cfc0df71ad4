/** The bundle of the hook is the current source, and both programs need nothing else. */

import assert from "node:assert/strict";
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "@countersign/testing/child";
import { BIN as COUNTERSIGN } from "@countersign/testing/countersign";
import { buildHook, DIST } from "../build.ts";
import { assertBlocked, BIN, feed } from "./support/hook-scene.ts";

test("[ours.adapters.hook.bundle] the built bundle is the current source", async (t) => {
  const expected = temporaryFolder(t);
  await buildHook(expected);
  const names = readdirSync(expected).sort();
  assert.deepEqual(readdirSync(DIST).sort(), names);
  for (const name of names) {
    const [built, source] = [DIST, expected].map((folder) => readFileSync(join(folder, name)));
    assert.deepEqual(built, source, `dist/${name} is out of date. Run: npm run build`);
  }
});

test("[ours.adapters.hook.bundle] the hook of both programs loads only the bundle, and no other package", async (t) => {
  const home = temporaryFolder(t);
  const packages = join(home, "node_modules");
  const hooks = join(packages, "@countersign/agent-hooks");
  cpSync(DIST, join(hooks, "dist"), { recursive: true });
  for (const [source, copy] of [
    [BIN, hooks],
    [COUNTERSIGN, join(packages, "countersign")],
  ] as const) {
    const bin = dirname(source);
    cpSync(bin, join(copy, "bin"), { recursive: true });
    cpSync(join(bin, "../package.json"), join(copy, "package.json"));
    const script = join(copy, source.slice(dirname(bin).length));
    const words = [process.execPath, script, "hook", "claude-code"];
    assertBlocked(await feed(t, home, words, { input: "" }).ends(), /The agent sent no input/);
  }
});
