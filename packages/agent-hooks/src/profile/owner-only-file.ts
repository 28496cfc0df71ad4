/**
 * Files with credentials, which only their owner may read or write. A file that other users can
 * read is rejected, so that the owner corrects its mode.
 *
 * Promises: a file is replaced as a whole, synced, or not at all.
 */

import { randomUUID } from "node:crypto";
import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

export const OWNER_ONLY = 0o600;

/**
 * @returns undefined if the file does not exist
 * @throws Error if other users can read or write it
 */
export function readOwnerOnly(path: string): string | undefined {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    if (Object(error).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    // Checks the open file: nothing can replace it between the check and the read.
    const { mode, uid } = fstatSync(file);
    const own = process.getuid?.() ?? uid;
    if (uid !== own && uid !== 0) throw new Error(`${path} belongs to another user.`);
    if (process.platform !== "win32" && (mode & 0o077) !== 0) {
      throw new Error(`Others can read ${path}, which holds a credential: chmod 600 it.`);
    }
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

/** @param mode of the new file */
export function replaceFile(path: string, text: string, mode = OWNER_ONLY): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  removeDrafts(path);
  const draft = `${path}.${randomUUID()}.draft`;
  try {
    const file = openSync(draft, "wx", mode);
    try {
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    // The umask of the process may have removed bits of the mode.
    chmodSync(draft, mode);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  syncFolder(dirname(path));
}

/** Deletes a file that replaceFile wrote. */
export function removeFile(path: string): void {
  rmSync(path, { force: true });
  removeDrafts(path);
}

/** Deletes what a killed process left. A draft can contain a credential. */
function removeDrafts(path: string): void {
  const folder = dirname(path);
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const isDraft = name.startsWith(`${basename(path)}.`) && name.endsWith(".draft");
    if (isDraft) rmSync(join(folder, name), { force: true });
  }
}

/** Without it, a crash of the machine could undo the rename. */
function syncFolder(path: string): void {
  if (process.platform === "win32") return;
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
