/**
 * The access to a server, in one file for each server. Several gateways can use the file: one of
 * them refreshes the token while the others wait, because most issuers accept a refresh token once.
 *
 * Promises: only the user of the gateway can read the file, and a crash leaves it whole.
 */

import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemTiming } from "@countersign/sdk";
import { OauthError } from "./discovery.ts";

/** A client of an issuer, and the token that it received for a server. */
export interface Login {
  /** URL of the server. */
  readonly server: string;
  readonly issuer: string;
  /** The value of the parameter `resource`. */
  readonly resource: string;
  readonly clientId: string;
  /** Of a client that the gateway has registered. */
  readonly clientSecret?: string | undefined;
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  /** Unix time in ms. Absent: the issuer stated no end. */
  readonly expiresAt?: number | undefined;
}

const POLL_MS = 50;

/** Longer than all requests of a refresh together. */
const LOCK_MS_MAX = 120_000;

export class LoginFile {
  readonly #path: string;

  /** @param stateFolder it deletes old files, so the logins are in a folder beside it */
  constructor(stateFolder: string, server: string) {
    this.#path = join(`${stateFolder}-logins`, `${server}.json`);
  }

  /** @returns undefined without a file, or for an invalid one */
  async read(): Promise<Login | undefined> {
    let text: string;
    try {
      text = await readFile(this.#path, "utf8");
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw new OauthError(`${this.#path} cannot be read (${codeOf(error)}).`);
    }
    try {
      const login = JSON.parse(text) as Partial<Login>;
      const { server, issuer, resource, clientId, accessToken } = login;
      const all = [server, issuer, resource, clientId, accessToken];
      return all.every((one) => typeof one === "string") ? (login as Login) : undefined;
    } catch {
      return undefined;
    }
  }

  async write(login: Login): Promise<void> {
    await this.#makeFolder();
    const draft = `${this.#path}.${randomUUID()}`;
    const file = await open(draft, "wx", 0o600);
    try {
      await file.writeFile(`${JSON.stringify(login, null, 2)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, this.#path);
  }

  /** Runs the action while no other gateway runs one for this file. */
  async locked<T>(action: () => Promise<T>): Promise<T> {
    await this.#makeFolder();
    const lock = `${this.#path}.lock`;
    const endsAt = systemTiming.monotonic() + LOCK_MS_MAX;
    while (!(await create(lock))) {
      // The process that created it has crashed.
      if (await isOlder(lock, LOCK_MS_MAX)) await rm(lock, { force: true });
      if (systemTiming.monotonic() > endsAt) throw new OauthError(`${lock} is in use. Delete it.`);
      await systemTiming.sleep(POLL_MS);
    }
    try {
      return await action();
    } finally {
      await rm(lock, { force: true });
    }
  }

  async #makeFolder(): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
  }
}

async function create(path: string): Promise<boolean> {
  try {
    await (await open(path, "wx", 0o600)).close();
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

async function isOlder(path: string, ms: number): Promise<boolean> {
  try {
    return systemTiming.now() - (await stat(path)).mtimeMs > ms;
  } catch {
    return false;
  }
}

function codeOf(error: unknown): string {
  return String((Object(error) as { readonly code?: unknown }).code);
}
