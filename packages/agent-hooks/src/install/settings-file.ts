/**
 * One settings file of an agent. It is replaced as a whole, through a symbolic link, with its mode,
 * and only if nothing else has changed it since it was read.
 */

import { readFileSync, realpathSync, statSync } from "node:fs";
import { OWNER_ONLY, removeFile, replaceFile } from "../profile/owner-only-file.ts";

export class SettingsFile {
  /** The path after symbolic links. */
  readonly path: string;
  /** Undefined if the file does not exist. */
  readonly text: string | undefined;

  constructor(path: string) {
    this.path = realPath(path);
    this.text = read(this.path);
  }

  /**
   * @param text undefined removes the file
   * @throws Error if the file has changed since it was read
   */
  replace(text: string | undefined): void {
    if (read(this.path) !== this.text) {
      throw new Error(`${this.path} changed while it was edited. Nothing was written. Try again.`);
    }
    if (text === undefined) removeFile(this.path);
    else if (text !== this.text) replaceFile(this.path, text, modeOf(this.path));
  }
}

/** Rejects text that is not UTF-8: the bytes must stay unchanged. */
function read(path: string): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
  } catch (error) {
    if (Object(error).code === "ENOENT") return undefined;
    throw new Error(`${path} cannot be read: ${Object(error).message}`);
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (Object(error).code === "ENOENT") return path;
    throw new Error(`${path} cannot be read: ${Object(error).message}`);
  }
}

function modeOf(path: string): number {
  try {
    return statSync(path).mode & 0o777;
  } catch {
    return OWNER_ONLY;
  }
}
