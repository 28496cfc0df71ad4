/**
 * Where the master key comes from: the setting `secret_key`, else the file `secret.key` in the
 * data folder, made on first start and readable by its owner only.
 */

import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import { createMasterKey } from "./keyring.ts";

const BASE64_OF_32_BYTES = /^[A-Za-z0-9+/]{43}=$/;

/**
 * @param mayCreate whether a missing file may be made: only for a database that is new, because
 *   a new key opens nothing that was sealed with the lost one
 * @throws Failure when the key is malformed or missing, or the file cannot be read or made
 */
export function loadMasterKey(
  setting: string | undefined,
  dataDirectory: string,
  mayCreate: boolean,
): Uint8Array {
  if (setting !== undefined) return decode(setting, "secret_key");
  const file = join(dataDirectory, "secret.key");
  try {
    return decode(readFileSync(file, "utf8").trim(), file);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  if (!mayCreate) {
    throw new Failure(
      "secret-key",
      `${file} is missing: put back the file that belongs to this database, or set its content ` +
        "as COUNTERSIGN_SECRET_KEY",
    );
  }
  createFile(file);
  return decode(readFileSync(file, "utf8").trim(), file);
}

/** Complete or not there: a second process never reads half a key, and the first one wins. */
function createFile(file: string): void {
  const draft = `${file}.${process.pid}`;
  const text = `${Buffer.from(createMasterKey()).toString("base64")}\n`;
  writeFileSync(draft, text, { mode: 0o600, flag: "wx", flush: true });
  try {
    linkSync(draft, file);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  } finally {
    rmSync(draft);
  }
}

function decode(text: string, place: string): Uint8Array {
  if (!BASE64_OF_32_BYTES.test(text)) {
    throw new Failure("secret-key", `${place} must be 32 bytes in base64`);
  }
  return Buffer.from(text, "base64");
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
