/**
 * Files of an archive of the audit log. Each is an export of a range of one log, so it can be
 * verified alone. A file is written under a temporary name, which does not count as an archive.
 */

import { createHash, randomUUID } from "node:crypto";
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { systemClock } from "../clock.ts";
import { archiveFolderOf, readArchiveName, writeArchiveName } from "../core/archive-name.ts";
import type { Range } from "../core/merkle.ts";
import { Failure } from "../failure.ts";
import { syncFolder } from "../sync-folder.ts";

export interface ArchiveFile extends Range {
  readonly path: string;
}

export interface VerifiedFile extends ArchiveFile {
  /** Of the bytes that were verified, in hex. */
  readonly sha256: string;
}

/** Only the owner can read it: entries name people. */
const [FOLDER_MODE, FILE_MODE] = [0o700, 0o600];

/** The public key of the log, in its folder. */
const KEY_FILE = "log.key";

/** It ends like the name of a compressed file, so that it is read like one. */
const PARTIAL = ".partial.gz";

/** A run that started to write a file earlier was killed. */
const PARTIAL_AGE_MS_MAX = 24 * 3_600_000;

/** The folder of a log in an archive. @throws Failure for an invalid origin */
export function folderOf(directory: string, origin: string): string {
  const name = archiveFolderOf(origin);
  if (name === undefined) throw failure(`the origin of a log is invalid: ${origin}`);
  return join(directory, name);
}

/**
 * @returns its files in the order of their positions; empty when the folder does not exist
 * @throws Failure when positions are missing between two files, or are in two files
 */
export function listArchive(folder: string): ArchiveFile[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder)
    .sort()
    .flatMap((name) => {
      const range = readArchiveName(name);
      return range === undefined ? [] : [{ ...range, path: join(folder, name) }];
    });
  for (const [i, file] of files.entries()) {
    const before = files[i - 1];
    if (before === undefined || before.to === file.from) continue;
    const fault = before.to < file.from ? "is missing" : "is in two files";
    const position = Math.min(before.to, file.from);
    throw failure(`the archive ${folder} is damaged: position ${position} ${fault}`);
  }
  return files;
}

/** @throws Failure that names the first positions of the range that no file has */
export function assertContained(files: readonly ArchiveFile[], { from, to }: Range): void {
  let position = from;
  for (const file of files) {
    if (file.from <= position) position = Math.max(position, file.to);
  }
  if (position >= to) return;
  const next = files.find((file) => file.from > position)?.from ?? to;
  const missing = `no archive file has the entries ${position} to ${Math.min(next, to) - 1}`;
  throw failure(`${missing}: copy the missing file back into the folder of the archive`);
}

/** Creates the folder of a log, and removes what a killed run left. */
export function prepareFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
  for (const name of readdirSync(folder)) {
    if (name.endsWith(PARTIAL)) removeOld(join(folder, name));
  }
}

function removeOld(path: string): void {
  const { mtimeMs = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
  if (mtimeMs < systemClock.now() - PARTIAL_AGE_MS_MAX) rmSync(path, { force: true });
}

/** @throws Failure when the folder has another key */
export function writeKey(folder: string, key: string): void {
  const path = join(folder, KEY_FILE);
  if (existsSync(path)) {
    if (readFileSync(path, "utf8").trim() === key) return;
    throw failure(`${path} is not the public key of the log: move the file away, and try again`);
  }
  const partial = join(folder, `${randomUUID()}${PARTIAL}`);
  writeFileSync(partial, `${key}\n`, { flag: "wx", flush: true });
  renameSync(partial, path);
  syncFolder(folder);
}

/**
 * Writes a file to the disk. It counts only after the verification.
 *
 * @param verify reads the file back; an error removes it
 * @throws Failure when it exists or cannot be written
 */
export async function writeArchiveFile(
  folder: string,
  range: Range,
  lines: AsyncIterable<string>,
  verify: (file: ArchiveFile) => Promise<Pick<VerifiedFile, "sha256">>,
): Promise<VerifiedFile> {
  const path = join(folder, writeArchiveName(range));
  if (existsSync(path)) throw failure(`${path} exists`);
  const partial = join(folder, `${randomUUID()}${PARTIAL}`);
  let sha256 = "";
  try {
    await pipeline(
      Readable.from(withNewlines(lines)),
      createGzip(),
      createWriteStream(partial, { flags: "wx", mode: FILE_MODE, flush: true }),
    );
    ({ sha256 } = await verify({ ...range, path: partial }));
    renameSync(partial, path);
  } catch (error) {
    rmSync(partial, { force: true });
    if (error instanceof Failure) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw failure(`cannot write ${path}: ${reason}`, error);
  }
  syncFolder(folder);
  syncFolder(dirname(folder));
  return { ...range, path, sha256 };
}

async function* withNewlines(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield `${line}\n`;
}

/** Verified files, to be checked again as long as entries are deleted because of them. */
export class UnchangedFiles {
  readonly #states: ReadonlyMap<string, string>;

  private constructor(states: ReadonlyMap<string, string>) {
    this.#states = states;
  }

  /** @throws Failure when a file has other bytes than those that were verified */
  static async of(files: readonly VerifiedFile[]): Promise<UnchangedFiles> {
    const states = new Map<string, string>();
    for (const { path, sha256 } of files) {
      states.set(path, stateOf(path));
      if ((await digestOf(path)) !== sha256) throw changed(path);
    }
    return new UnchangedFiles(states);
  }

  /** @throws Failure when a file was removed, replaced or written to since */
  assert(): void {
    for (const [path, state] of this.#states) if (stateOf(path) !== state) throw changed(path);
  }
}

function changed(path: string): Failure {
  return failure(`${path} changed after its verification: run the command again`);
}

function stateOf(path: string): string {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (stat === undefined) throw failure(`${path} is missing: copy it back`);
  return `${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeNs}`;
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw failure(`cannot read ${path}: ${reason}`, error);
  }
  return hash.digest("hex");
}

export function failure(message: string, cause?: unknown): Failure {
  return new Failure("audit", message, cause);
}
