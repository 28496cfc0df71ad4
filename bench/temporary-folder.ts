/**
 * Folders that are gone when the benchmark has ended, also when it failed.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folders = new Set<string>();

process.once("exit", () => {
  for (const folder of [...folders]) removeFolder(folder);
});

/** On the disk of TMPDIR: what a durable write costs there is part of every result. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "countersign-bench-"));
  folders.add(folder);
  return folder;
}

export function removeFolder(folder: string): void {
  folders.delete(folder);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
