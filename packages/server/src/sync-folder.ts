/** Makes new names in a folder durable. */

import { closeSync, fsyncSync, openSync } from "node:fs";

/** A rename is on the disk when its folder is. Windows cannot open folders and does not need it. */
export function syncFolder(folder: string): void {
  if (process.platform === "win32") return;
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
