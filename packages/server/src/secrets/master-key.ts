/**
 * Where the master keys come from. The current one: the setting `secret_key`, else the file
 * `secret.key` in the data folder, made on first start and readable by its owner only. Previous
 * ones, which only decrypt what was encrypted before a rotation: the setting `secret_key_previous`
 * and, when the current one is a file, the lines of `secret.key.previous`.
 */

import {
  chownSync,
  closeSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { Failure, Misconfigured } from "../failure.ts";
import { createMasterKey, masterKeyId } from "./keyring.ts";

const BASE64_OF_32_BYTES = /^[A-Za-z0-9+/]{43}=$/;

/** The settings about keys, as they were given. */
export interface Secrets {
  readonly secretKey: string | undefined;
  /** Keys separated by commas. */
  readonly secretKeyPrevious: string | undefined;
}

/** What may be shown of a key. */
export interface KeyDescription {
  readonly keyId: string;
  /** The file or setting that holds it. */
  readonly source: string;
}

interface MasterKey extends KeyDescription {
  readonly key: Uint8Array;
}

export interface KeySet<K extends KeyDescription = MasterKey> {
  readonly current: K;
  /** The current key is not among them, and none is twice. */
  readonly previous: readonly K[];
}

/**
 * @param mayCreate whether a missing file may be made: only for a database that is new, because
 *   a new key decrypts nothing that the lost one encrypted
 * @throws Failure when a key is malformed or the current one missing; a system error when a file
 *   cannot be read or made
 */
export function loadKeys(
  { secretKey, secretKeyPrevious }: Secrets,
  dataDirectory: string,
  mayCreate: boolean,
): KeySet {
  const file = keyFile(dataDirectory);
  const current =
    secretKey === undefined
      ? readKeyFile(file, mayCreate)
      : decode(secretKey, `${SETTING}secret_key`);
  const previous = new Map<string, MasterKey>();
  const fromFile = secretKey === undefined ? readPreviousFile(previousFile(file)) : [];
  for (const key of [...splitSetting(secretKeyPrevious), ...fromFile]) {
    if (key.keyId !== current.keyId && !previous.has(key.keyId)) previous.set(key.keyId, key);
  }
  return { current, previous: [...previous.values()] };
}

/**
 * Which keys there are, without the keys.
 *
 * @throws as {@link loadKeys}
 */
export function describeKeys(secrets: Secrets, dataDirectory: string): KeySet<KeyDescription> {
  const describe = ({ keyId, source }: MasterKey): KeyDescription => ({ keyId, source });
  const { current, previous } = loadKeys(secrets, dataDirectory, false);
  return { current: describe(current), previous: previous.map(describe) };
}

/**
 * Puts a new key into `secret.key`, after the old one was added to `secret.key.previous`. Each
 * file is replaced as a whole and synced: whenever this ends, every key that something was
 * encrypted with is in one of the two. Repeating it after an interruption is harmless.
 *
 * @throws Failure when a file is malformed; a system error when one cannot be written
 */
export function replaceKeyFile(dataDirectory: string): void {
  const file = keyFile(dataDirectory);
  const old = readKeyFile(file, false);
  const previous = readPreviousFile(previousFile(file));
  const owner = statSync(file);
  if (!previous.some(({ keyId }) => keyId === old.keyId)) {
    replaceFile(previousFile(file), [...previous, old].map(toLine).join(""), owner);
  }
  replaceFile(file, toLine({ key: createMasterKey() }), owner);
}

function keyFile(dataDirectory: string): string {
  return join(dataDirectory, "secret.key");
}

function previousFile(file: string): string {
  return `${file}.previous`;
}

function readKeyFile(file: string, mayCreate: boolean): MasterKey {
  const text = readIfThere(file);
  if (text !== undefined) return decode(text.trim(), file);
  if (!mayCreate) {
    throw new Failure(
      "secret-key",
      `${file} is missing: put back the file that belongs to this database, or set its content ` +
        "as COUNTERSIGN_SECRET_KEY; a new key would decrypt nothing that the lost one encrypted " +
        "(for a new database at database_url, make one first: openssl rand -base64 32)",
    );
  }
  createFile(file);
  return decode(readFileSync(file, "utf8").trim(), file);
}

function readPreviousFile(file: string): MasterKey[] {
  const lines = (readIfThere(file) ?? "").split("\n").map((line) => line.trim());
  return lines.flatMap((line, index) =>
    line === "" ? [] : [decode(line, file, `${file}, line ${index + 1},`)],
  );
}

/** What a source that is no file begins with. */
const SETTING = "the setting ";

function splitSetting(setting = ""): MasterKey[] {
  if (setting.trim() === "") return [];
  const source = `${SETTING}secret_key_previous`;
  return setting
    .split(",")
    .map((text, index) => decode(text.trim(), source, `${source}, key ${index + 1},`));
}

/** @param label how a message names it, if not by its source alone */
function decode(text: string, source: string, label = source): MasterKey {
  // Never the text itself: it may be a key with one letter wrong.
  if (!BASE64_OF_32_BYTES.test(text)) {
    const Fault = source.startsWith(SETTING) ? Misconfigured : Failure;
    throw new Fault("secret-key", `${label} must be 32 bytes in base64`);
  }
  const key = Buffer.from(text, "base64");
  return { key, keyId: masterKeyId(key), source };
}

function toLine({ key }: Pick<MasterKey, "key">): string {
  return `${Buffer.from(key).toString("base64")}\n`;
}

/** Complete or not there: a second process never reads half a key, and the first one wins. */
function createFile(file: string): void {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, toLine({ key: createMasterKey() }), SECRET_FILE);
  try {
    linkSync(draft, file);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  } finally {
    rmSync(draft);
  }
}

const SECRET_FILE = { mode: 0o600, flag: "wx", flush: true };

interface FileOwner {
  readonly uid: number;
  readonly gid: number;
}

/** The old content or the new one, also after a power cut; and the new one once this returns. */
function replaceFile(file: string, text: string, { uid, gid }: FileOwner): void {
  const draft = `${file}.draft`;
  // One that an interrupted rotation left: its key encrypted nothing.
  rmSync(draft, { force: true });
  try {
    writeFileSync(draft, text, SECRET_FILE);
    // When root rotates the key, it stays readable for the user of the server.
    if (process.getuid?.() === 0) chownSync(draft, uid, gid);
    renameSync(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
  syncDirectory(dirname(file));
}

/** Makes a rename durable. Windows can neither open folders nor needs it. */
function syncDirectory(directory: string): void {
  if (process.platform === "win32") return;
  const descriptor = openSync(directory, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** @throws Failure when another user owns it, or others can read it and this cannot be changed */
function readIfThere(file: string): string | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  try {
    closeToOthers(file, descriptor);
    return readFileSync(descriptor, "utf8");
  } finally {
    closeSync(descriptor);
  }
}

/** Of the open file, so that it cannot be exchanged between the check and the read. */
function closeToOthers(file: string, descriptor: number): void {
  const own = process.getuid?.();
  if (own === undefined) return;
  const { mode, uid } = fstatSync(descriptor);
  // Root rotates the key of a service that has a user of its own.
  if (uid !== own && uid !== 0 && own !== 0) {
    throw new Failure(
      "secret-key",
      `${file} belongs to another user: change its owner to the user of this process with chown`,
    );
  }
  if ((mode & 0o077) === 0) return;
  try {
    fchmodSync(descriptor, 0o600);
  } catch (error) {
    const advice = `restrict it with: chmod 600 ${file}`;
    throw new Failure("secret-key", `${file} is accessible to other users; ${advice}`, error);
  }
  process.emitWarning(
    `${file} was accessible to other users (mode ${(mode & 0o777).toString(8)}). ` +
      "Its mode is now 600. If others could read it, rotate it: countersign secret-key rotate",
  );
}
