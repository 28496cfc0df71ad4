/**
 * Loads the master keys. The current one is the setting `secret_key`, or else the file `secret.key`
 * in the data folder, which the first start creates with access for its owner only. Previous ones
 * only decrypt: the setting `secret_key_previous` and, if the current one is a file, the lines of
 * `secret.key.previous`.
 */

import {
  chownSync,
  closeSync,
  fchmodSync,
  fstatSync,
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
import { syncFolder } from "../sync-folder.ts";
import { createMasterKey, masterKeyId } from "./keyring.ts";

const BASE64_OF_32_BYTES = /^[A-Za-z0-9+/]{43}=$/;

/** The key settings, unparsed. */
export interface Secrets {
  readonly secretKey: string | undefined;
  /** Keys, separated by commas. */
  readonly secretKeyPrevious: string | undefined;
}

/** The facts about a key that may be displayed. */
export interface KeyDescription {
  readonly keyId: string;
  /** The file or setting of the key. */
  readonly source: string;
}

interface MasterKey extends KeyDescription {
  readonly key: Uint8Array;
}

export interface KeySet<K extends KeyDescription = MasterKey> {
  readonly current: K;
  /** Without duplicates and without the current key. */
  readonly previous: readonly K[];
}

/**
 * @param mayCreate true permits creating a missing file: for a new database only, because a new key
 * cannot decrypt existing data
 * @throws Failure when a key is malformed or the current one missing; a system error when a file
 * cannot be read or created
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
 * Describes the keys without revealing them.
 *
 * @throws as {@link loadKeys}
 */
export function describeKeys(secrets: Secrets, dataDirectory: string): KeySet<KeyDescription> {
  const describe = ({ keyId, source }: MasterKey): KeyDescription => ({ keyId, source });
  const { current, previous } = loadKeys(secrets, dataDirectory, false);
  return { current: describe(current), previous: previous.map(describe) };
}

/**
 * Writes a new key to `secret.key`, after it has added the old one to `secret.key.previous`. Each
 * file is replaced atomically and synced. After an interruption at any point, the two files contain
 * every key that encrypted something, and it can be repeated.
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
      `${file} is missing: restore the file that belongs to this database, or set its content ` +
        "as COUNTERSIGN_SECRET_KEY; a new key cannot decrypt the existing data " +
        "(for a new database at database_url, create one first: openssl rand -base64 32)",
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

/** Prefix of a source that is a setting. */
const SETTING = "the setting ";

function splitSetting(setting = ""): MasterKey[] {
  if (setting.trim() === "") return [];
  const source = `${SETTING}secret_key_previous`;
  return setting
    .split(",")
    .map((text, index) => decode(text.trim(), source, `${source}, key ${index + 1},`));
}

/** @param label name in messages, if it differs from the source */
function decode(text: string, source: string, label = source): MasterKey {
  // Never includes the text, because it may be a key with a typo.
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

/** Creates the file atomically. If two processes start, the first one wins. */
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

/**
 * Replaces the file atomically, also across a power failure. The new content is durable on return.
 */
function replaceFile(file: string, text: string, { uid, gid }: FileOwner): void {
  const draft = `${file}.draft`;
  // Left by an interrupted rotation. Its key has encrypted nothing.
  rmSync(draft, { force: true });
  try {
    writeFileSync(draft, text, SECRET_FILE);
    // After a rotation by root, the server's user can still read the key.
    if (process.getuid?.() === 0) chownSync(draft, uid, gid);
    renameSync(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
  syncFolder(dirname(file));
}

/**
 * @throws Failure when another user owns the file, or its mode is too open and cannot be changed
 */
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

/** Checks the open file, so that it cannot be replaced between the check and the read. */
function closeToOthers(file: string, descriptor: number): void {
  const own = process.getuid?.();
  if (own === undefined) return;
  const { mode, uid } = fstatSync(descriptor);
  // Root may rotate the key of a service that runs as another user.
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
