/**
 * Stores on disk, for Node and compatible runtimes. Each id has one file, and the existence of the
 * file is the record. The file system lets exactly one process create it.
 *
 * Promises: a resolved write is synced to disk, with its folder. After a crash at any point, an id
 * is either taken or not taken.
 */

import { createHash, randomUUID } from "node:crypto";
import { link, mkdir, open, readdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { parseIdentifier, RETENTION_MS_MIN } from "@countersign/protocol";
import { systemTiming } from "./clock.ts";
import type { ConsumptionStore } from "./consumption-store.ts";
import { SdkError } from "./errors.ts";
import type { ReceiverStore, ResolvedEvent } from "./receiver-store.ts";

/** Eight days: the retention of requests, and one day. @see contract: Limits */
const AGE_MS_MIN = RETENTION_MS_MIN + 24 * 3_600_000;

/**
 * Stores used approvals, and results of calls, in a folder. The records survive a crash, and
 * several processes can share the folder.
 */
export class FileStore implements ConsumptionStore {
  readonly #folder: Folder;

  /**
   * @param folder an absolute path, for this store only; created if missing
   * @throws SdkError `invalid_option` for a relative path: a process in another working directory
   *   would not find the records
   */
  constructor(folder: string) {
    if (typeof folder !== "string" || !isAbsolute(folder)) {
      throw new SdkError(
        "invalid_option",
        `FileStore needs an absolute folder, not ${JSON.stringify(folder)}. ` +
          'Use for example join(import.meta.dirname, "approvals").',
      );
    }
    this.#folder = new Folder(folder);
  }

  async consume(id: string): Promise<boolean> {
    return this.#folder.take(fileNameOf(id), `${id}\n`);
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
   * Deletes old records. After a deletion, a call could start again if the provider still returns a
   * valid approval for its key. Records must therefore stay for at least eight days.
   *
   * @param olderThanMs minimum age of the records to delete, ms; at least 691,200,000 (8 days)
   * @throws SdkError `invalid_call` for a lower age
   */
  async prune(olderThanMs: number): Promise<void> {
    if (!(olderThanMs >= AGE_MS_MIN)) {
      throw new SdkError("invalid_call", "Approval records must be kept for at least 8 days.");
    }
    for (const name of await this.#folder.names()) {
      if (await this.#folder.isOld(name, olderThanMs)) await this.#folder.remove(name);
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

  /** @param folder a path, for this store only; created if missing */
  constructor(folder: string) {
    this.#bound = new Folder(join(folder, "instances"));
    this.#events = new Folder(join(folder, "events"));
    this.#finished = new Folder(join(folder, "finished"));
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
    return this.#events.takeWhole(nameOf(event.id), JSON.stringify(event));
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

  /** Deletes finished events after eight days, when the provider no longer sends them again. */
  async prune(): Promise<void> {
    for (const name of await this.#finished.names()) {
      if (!(await this.#finished.isOld(name, AGE_MS_MIN))) continue;
      // The order matters: an event without its `finished` file would be unfinished.
      await this.#events.remove(name);
      await this.#finished.remove(name);
    }
  }
}

/** A folder in which each file is created once. */
class Folder {
  readonly #path: string;
  #made: Promise<void> | undefined;

  constructor(path: string) {
    this.#path = resolve(path);
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

  async isOld(name: string, ageMs: number): Promise<boolean> {
    try {
      const { mtimeMs } = await stat(join(this.#path, name));
      return systemTiming.now() - mtimeMs >= ageMs;
    } catch (error) {
      if (codeOf(error) === "ENOENT") return false;
      throw error;
    }
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

function codeOf(error: unknown): unknown {
  return (Object(error) as { readonly code?: unknown }).code;
}
