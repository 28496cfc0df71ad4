/**
 * Files that nobody but their owner may read or write: profiles hold credentials. A file that
 * others can read is not read here either, so that its state is noticed and not got used to.
 *
 * Called by: profiles; install for settings, which keep their own mode.
 * Promises: a file is replaced as a whole, synced, or not at all.
 */

import { randomUUID } from "node:crypto";
import {
  chmodSync,
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";

export const OWNER_ONLY = 0o600;

/**
 * @returns undefined when there is none
 * @throws Error with words for people when others can read or write it
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
    // The open file, so that nobody exchanges it between the look and the read.
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

/** @param mode of the file, also where it was another before */
export function replaceFile(path: string, text: string, mode = OWNER_ONLY): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomUUID()}.draft`;
  try {
    const file = openSync(draft, "wx", mode);
    try {
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    // The mask of the process may have taken bits away that the file had before.
    chmodSync(draft, mode);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  syncFolder(dirname(path));
}

/** Without it a crash of the machine could take the new name away. */
function syncFolder(path: string): void {
  if (process.platform === "win32") return;
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
