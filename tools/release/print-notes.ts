/**
 * Prints the section of the current version in CHANGELOG.md, as the notes of its release:
 * `node tools/release/print-notes.ts v1.2.3`. It fails if the tag is not that of the version.
 */

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { readSection } from "./changelog.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const [tag] = process.argv.slice(2);

const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  readonly version: string;
};
if (tag !== `v${version}`) throw new Error(`The tag is "${tag}", but the version is ${version}.`);
console.log(readSection(readFileSync(join(ROOT, "CHANGELOG.md"), "utf8"), version));
