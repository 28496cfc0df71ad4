import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { temporaryFolder } from "@countersign/testing/child";
import { joinModules } from "./join-modules.ts";

test("[ours.packages.content] a joined module finds the files of its folder", async (t) => {
  const folder = temporaryFolder(t);
  const [src, dist] = [join(folder, "src"), join(folder, "dist")];
  mkdirSync(join(src, "inner"), { recursive: true });
  writeFileSync(join(src, "main.ts"), 'export * from "./inner/where.ts";\n');
  // A local `dirname` must not be mistaken for the one of the module.
  const where = `import { dirname } from "node:path";
    export const byFolder = import.meta.dirname + "/asset.txt";
    export const byUrl = new URL("./asset.txt", import.meta.url).href;
    export const parent = dirname(byFolder);\n`;
  writeFileSync(join(src, "inner/where.ts"), where);

  await joinModules({ src, dist, entries: ["main"], target: "es2024" });

  const joined = await import(pathToFileURL(join(dist, "main.js")).href);
  const asset = join(dist, "inner/asset.txt");
  assert.equal(join(joined.byFolder), asset);
  assert.equal(joined.byUrl, pathToFileURL(asset).href);
  assert.equal(join(joined.parent), join(dist, "inner"));
});
