/**
 * Makes the tarballs of all published packages: `npm run pack`, into the folder `packed`, or
 * `npm run pack -- --out FOLDER`. Prints their sizes.
 */

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
  },
});

const out = resolve(ROOT, values.out);
const scratch = mkdtempSync(join(tmpdir(), "countersign-pack-"));
try {
  for (const { name, size, unpackedSize, paths } of pack(PUBLISHED, out, scratch)) {
    const [packed, unpacked] = [size, unpackedSize].map((bytes) => (bytes / 1000).toFixed(1));
    console.log(`${name}: ${packed} kB, unpacked ${unpacked} kB, ${paths.length} files`);
  }
} finally {
  rmSync(scratch, { recursive: true });
}
