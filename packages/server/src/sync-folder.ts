/** Makes new names in a folder durable. */

import { closeSync, fsyncSync, openSync } from "node:fs";

/** Codes with which some file systems of networks reject a sync of a folder. */
const UNSUPPORTED = ["EINVAL", "ENOTSUP"];

/** A rename is on the disk when its folder is. Windows cannot open folders and does not need it. */
export function syncFolder(folder: string): void {
  if (process.platform === "win32") return;
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } catch (error) {
    if (!UNSUPPORTED.includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  } finally {
    closeSync(descriptor);
  }
}
