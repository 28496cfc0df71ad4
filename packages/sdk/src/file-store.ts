/**
 * Stores on disk, for Node and compatible runtimes. Each id has one file, and the existence of the
 * file is the record. The file system lets exactly one process create it.
 *
 * Promises: a resolved write is synced to disk, with its folder. After a crash at any point, an id
 * is either taken or not taken.
 */

import { createHash, randomUUID } from "node:crypto";
import type { Stats } from "node:fs";
import { link, mkdir, open, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { parseIdentifier } from "@countersign/protocol";
import { systemTiming, type Timing } from "./clock.ts";
import type { ConsumptionStore } from "./consumption-store.ts";
import { SdkError } from "./errors.ts";
import {
  HourlyPruning,
  PRUNE_INTERVAL_MS,
  PRUNING_OPTIONS,
  type PruningOptions,
  STORE_RETENTION_MS,
} from "./hourly-pruning.ts";
import { assertKnownOptions } from "./known-options.ts";
import type { ReceiverStore, ResolvedEvent } from "./receiver-store.ts";

/** The modification time of this file is the start of the last deletion of old records. */
const PRUNED = "pruned";

/**
 * Stores used approvals, and results of calls, in a folder. The records survive a crash, and
 * several processes can share the folder.
 */
export class FileStore implements ConsumptionStore {
  readonly #folder: Folder;
  readonly #pruning: HourlyPruning;

  /**
   * @param folder an absolute path, for this store only; created if missing
   * @throws SdkError `invalid_option` for a relative path: a process in another working directory
   *   would not find the records
   */
  constructor(folder: string, options: PruningOptions = {}) {
    if (typeof folder !== "string" || !isAbsolute(folder)) {
      throw new SdkError(
        "invalid_option",
        `FileStore needs an absolute folder, not ${JSON.stringify(folder)}. ` +
          'Use for example join(import.meta.dirname, "approvals").',
      );
    }
    assertKnownOptions("new FileStore()", options, PRUNING_OPTIONS);
    this.#folder = new Folder(folder, options.timing);
    this.#pruning = new HourlyPruning(async () => {
      if (await this.#folder.startPruning()) await this.prune();
    }, options);
  }

  async consume(id: string): Promise<boolean> {
    const isFirst = await this.#folder.take(fileNameOf(id), `${id}\n`);
    this.#pruning.start();
    return isFirst;
  }

  async has(id: string): Promise<boolean> {
    return (await this.#folder.readIfThere(fileNameOf(id))) !== undefined;
  }

  async saveResult(id: string, text: string): Promise<void> {
    await this.#folder.takeWhole(`${fileNameOf(id)}.result`, text);
  }

  async loadResult(id: string): Promise<string | undefined> {
    return this.#folder.readIfThere(`${fileNameOf(id)}.result`);
  }

  /**
   * Deletes records older than eight days. The store calls it itself, at most once an hour for all
   * processes that share the folder.
   */
  async prune(): Promise<void> {
    for (const name of await this.#folder.names()) {
      if (await this.#folder.isOld(name, STORE_RETENTION_MS)) await this.#folder.remove(name);
    }
  }
}

/** A digest, because ids can be too long for file names or contain invalid characters. */
function fileNameOf(id: string): string {
  return createHash("sha256").update(id).digest("hex");
}

/** Stores the state of a receiver in a folder. */
export class FileReceiverStore implements ReceiverStore {
  readonly #bound: Folder;
  readonly #events: Folder;
  readonly #finished: Folder;
  readonly #pruning: HourlyPruning;

  /** @param folder a path, for this store only; created if missing */
  constructor(folder: string, options: PruningOptions = {}) {
    assertKnownOptions("new FileReceiverStore()", options, PRUNING_OPTIONS);
    this.#bound = new Folder(join(folder, "instances"), options.timing);
    this.#events = new Folder(join(folder, "events"), options.timing);
    this.#finished = new Folder(join(folder, "finished"), options.timing);
    this.#pruning = new HourlyPruning(async () => {
      if (await this.#finished.startPruning()) await this.prune();
    }, options);
  }

  async bind(instanceId: string, registrationId: string): Promise<void> {
    await this.#bound.take(`${nameOf(instanceId)}.${nameOf(registrationId)}`, "");
  }

  async registrationsOf(instanceId: string): Promise<readonly string[]> {
    const prefix = `${nameOf(instanceId)}.`;
    const names = await this.#bound.names();
    return names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  }

  async keep(event: ResolvedEvent): Promise<boolean> {
    const isNew = await this.#events.takeWhole(nameOf(event.id), JSON.stringify(event));
    this.#pruning.start();
    return isNew;
  }

  async finish(eventId: string): Promise<void> {
    await this.#finished.take(nameOf(eventId), "");
  }

  async unfinished(): Promise<readonly ResolvedEvent[]> {
    const finished = new Set(await this.#finished.names());
    const names = (await this.#events.names()).filter((name) => {
      return !finished.has(name) && parseIdentifier(name) !== undefined;
    });
    return Promise.all(
      names.map(async (name) => JSON.parse(await this.#events.read(name)) as ResolvedEvent),
    );
  }

  /**
   * Deletes events that were finished more than eight days ago: the provider no longer sends them
   * again. The store calls it itself, at most once an hour.
   */
  async prune(): Promise<void> {
    for (const name of await this.#finished.names()) {
      if (!(await this.#finished.isOld(name, STORE_RETENTION_MS))) continue;
      // The order matters: an event without its `finished` file would be unfinished.
      await this.#events.remove(name);
      await this.#finished.remove(name);
    }
  }
}

/** A folder in which each file is created once. */
class Folder {
  readonly #path: string;
  readonly #timing: Timing;
  #made: Promise<void> | undefined;

  constructor(path: string, timing = systemTiming) {
    this.#path = resolve(path);
    this.#timing = timing;
  }

  /** @returns false if the file existed before. Synced in both cases. */
  async take(name: string, text: string): Promise<boolean> {
    await this.#make();
    try {
      await writeSynced(join(this.#path, name), text);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      await syncFolder(this.#path);
      return false;
    }
    await syncFolder(this.#path);
    return true;
  }

  /** Like {@link take}, but the file never exists without its complete text. */
  async takeWhole(name: string, text: string): Promise<boolean> {
    await this.#make();
    const draft = join(this.#path, `${randomUUID()}.draft`);
    await writeSynced(draft, text);
    try {
      await link(draft, join(this.#path, name));
      return true;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      return false;
    } finally {
      await rm(draft, { force: true });
      await syncFolder(this.#path);
    }
  }

  async names(): Promise<string[]> {
    await this.#make();
    return readdir(this.#path);
  }

  read(name: string): Promise<string> {
    return readFile(join(this.#path, name), "utf8");
  }

  async readIfThere(name: string): Promise<string | undefined> {
    try {
      return await this.read(name);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  /** @returns false for a file that does not exist */
  async isOld(name: string, ageMs: number): Promise<boolean> {
    const file = await statIfThere(join(this.#path, name));
    return file !== undefined && this.#timing.now() - file.mtimeMs >= ageMs;
  }

  /**
   * Processes can be short and many, so the folder contains the time of the last deletion.
   *
   * @returns false if a deletion started in the last hour, or if the folder is new or missing
   */
  async startPruning(): Promise<boolean> {
    const marker = join(this.#path, PRUNED);
    const lastMs =
      (await statIfThere(marker))?.mtimeMs ?? (await statIfThere(this.#path))?.birthtimeMs;
    const now = this.#timing.now();
    if (lastMs === undefined || now - lastMs < PRUNE_INTERVAL_MS) return false;
    await writeFile(marker, `${new Date(now).toISOString()}\n`, { mode: 0o600 });
    return true;
  }

  remove(name: string): Promise<void> {
    return rm(join(this.#path, name), { force: true });
  }

  #make(): Promise<void> {
    this.#made ??= makeFolder(this.#path).catch((error: unknown) => {
      this.#made = undefined;
      throw error;
    });
    return this.#made;
  }
}

/** Only the owner of the process may read the records. */
async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  // Syncs every new folder, and the parent of the first one.
  for (let at = path; at.length >= first.length; at = dirname(at)) await syncFolder(dirname(at));
}

/** @throws EEXIST if the file exists */
async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Without this, a crash of the machine could remove the directory entry of a synced file. */
async function syncFolder(path: string): Promise<void> {
  // Windows cannot open folders, and writes their entries through itself.
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Ids become file names, so only UUIDs are accepted. */
function nameOf(id: string): string {
  const name = parseIdentifier(id);
  if (name === undefined) throw new SdkError("invalid_call", "An event id must be a UUID.");
  return name;
}

async function statIfThere(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function codeOf(error: unknown): unknown {
  return (Object(error) as { readonly code?: unknown }).code;
}
