/**
 * Stores on disk, for Node and what is like it: one file for each thing that must not happen
 * twice. That a file of its name exists is the record; the file system lets one create it.
 *
 * Promises: what has resolved is synced, with its folder. A crash at any point leaves a thing
 * either not taken or taken, never in between.
 */

import { createHash, randomUUID } from "node:crypto";
import { link, mkdir, open, readdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { parseIdentifier, RETENTION_MS_MIN } from "@countersign/protocol";
import { systemTiming } from "./clock.ts";
import type { ConsumptionStore } from "./consumption-store.ts";
import { SdkError } from "./errors.ts";
import type { ReceiverStore, ResolvedEvent } from "./receiver-store.ts";

/** Eight days: the retries of a notification, and grace. @see contract: Limits */
const AGE_MS_MIN = RETENTION_MS_MIN + 24 * 3_600_000;

/** Uses of approvals, and the results of calls that a framework may ask for again. */
export class FileStore implements ConsumptionStore {
  readonly #folder: Folder;

  /**
   * @param folder an absolute path; created if missing; of this store alone
   * @throws SdkError `invalid_option` for a relative path: a process that starts in another working
   *   directory would not find what was used
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
   * Forgets what is older. A key that is forgotten could start a call again, if a provider still
   * answers it with an approval that has not ended: so nothing younger than eight days goes.
   *
   * @throws SdkError `invalid_call`
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

/** A digest: ids have characters and a length that names of files have not. */
function fileNameOf(id: string): string {
  return createHash("sha256").update(id).digest("hex");
}

/** What a receiver must not forget. */
export class FileReceiverStore implements ReceiverStore {
  readonly #bound: Folder;
  readonly #events: Folder;
  readonly #finished: Folder;

  /** @param folder made when it is missing; of this store alone */
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

  /** Forgets events that are finished, after the eight days in which they may come again. */
  async prune(): Promise<void> {
    for (const name of await this.#finished.names()) {
      if (!(await this.#finished.isOld(name, AGE_MS_MIN))) continue;
      // In this order: without its mark it would be unfinished.
      await this.#events.remove(name);
      await this.#finished.remove(name);
    }
  }
}

/** A folder of files that are created once. */
class Folder {
  readonly #path: string;
  #made: Promise<void> | undefined;

  constructor(path: string) {
    this.#path = resolve(path);
  }

  /** @returns false when it was taken before; synced either way */
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

  /** As {@link take}; the file has all of its text from the moment at which it exists. */
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
  // Every folder that is new, and the one in which the first of them is.
  for (let at = path; at.length >= first.length; at = dirname(at)) await syncFolder(dirname(at));
}

/** @throws EEXIST when there is one */
async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Without it a crash of the machine could take the name of a synced file away. */
async function syncFolder(path: string): Promise<void> {
  // Windows opens no folders, and writes their entries through by itself.
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Ids become names of files: nothing but a UUID does. */
function nameOf(id: string): string {
  const name = parseIdentifier(id);
  if (name === undefined) throw new SdkError("invalid_call", "An event id must be a UUID.");
  return name;
}

function codeOf(error: unknown): unknown {
  return (Object(error) as { readonly code?: unknown }).code;
}
