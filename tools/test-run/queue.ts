/** A queue of test files in a folder, from which several processes take. */

import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const LIST = "files.json";

/** @returns the folder */
export function createQueue(paths: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "countersign-tests-"));
  writeFileSync(join(folder, LIST), JSON.stringify(paths));
  return folder;
}

/** Yields each file that no other process has taken, in the order of the queue. */
export function* claimFiles(folder: string): Generator<string> {
  const paths = JSON.parse(readFileSync(join(folder, LIST), "utf8")) as string[];
  for (const [index, path] of paths.entries()) {
    if (claim(join(folder, String(index)))) yield path;
  }
}

/** Only one of several processes can create a folder. */
function claim(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
