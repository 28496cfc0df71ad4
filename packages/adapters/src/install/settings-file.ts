/**
 * One settings file of an agent, read and replaced as a whole: through a symbolic link, with the
 * mode that it has, and only as long as nobody else has written it meanwhile.
 *
 * Called by: install, status, doctor.
 */

import { readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { OWNER_ONLY, replaceFile } from "../profile/owner-only-file.ts";

export class SettingsFile {
  /** Where it really is. */
  readonly path: string;
  /** Undefined when there is none. */
  readonly text: string | undefined;

  constructor(path: string) {
    this.path = realPath(path);
    this.text = read(this.path);
  }

  /**
   * @param text undefined removes the file
   * @throws Error when somebody has written it since it was read
   */
  replace(text: string | undefined): void {
    if (read(this.path) !== this.text) {
      throw new Error(`${this.path} has changed in this moment; nothing was written, try again.`);
    }
    if (text === undefined) rmSync(this.path, { force: true });
    else if (text !== this.text) replaceFile(this.path, text, modeOf(this.path));
  }
}

/** The bytes must come back as they were: what is not UTF-8 is refused. */
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
    throw error;
  }
}

function modeOf(path: string): number {
  try {
    return statSync(path).mode & 0o777;
  } catch {
    return OWNER_ONLY;
  }
}
