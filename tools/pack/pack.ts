/**
 * Makes the tarballs of all published packages: `npm run pack`, into the folder `packed`, or
 * `npm run pack -- --out FOLDER`. Prints their sizes.
 *
 * `npm run pack -- --on COMMAND` makes none. It runs the tests of the packages with the agent on
 * that runtime as well, like `--on /opt/node-22/bin/node` or `--on "deno run --allow-all"`.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "./build.ts";
import { PUBLISHED } from "./packages.ts";
import { pack } from "./stage.ts";

const { values } = parseArgs({
  options: {
    out: { type: "string", default: "packed" },
    on: { type: "string", multiple: true, default: [] },
  },
});

if (values.on.length > 0) runOn(values.on);
else makeTarballs(resolve(ROOT, values.out));

function runOn(runtimes: readonly string[]): void {
  const args = ["--test", join(import.meta.dirname, "pack.test.ts")];
  const env = { ...process.env, COUNTERSIGN_TEST_ON: JSON.stringify(runtimes) };
  process.exitCode = spawnSync(process.execPath, args, { env, stdio: "inherit" }).status ?? 1;
}

function makeTarballs(out: string): void {
  const scratch = mkdtempSync(join(tmpdir(), "countersign-pack-"));
  try {
    for (const { name, size, unpackedSize, paths } of pack(PUBLISHED, out, scratch)) {
      const [packed, unpacked] = [size, unpackedSize].map((bytes) => (bytes / 1000).toFixed(1));
      console.log(`${name}: ${packed} kB, unpacked ${unpacked} kB, ${paths.length} files`);
    }
  } finally {
    rmSync(scratch, { recursive: true });
  }
}
