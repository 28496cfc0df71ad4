/**
 * Password hashes: scrypt with the salt and parameters beside the hash, so that the parameters can
 * change later. It computes one hash at a time, outside the event loop, with a bounded queue, so
 * that sign-ins do not block other exchanges.
 *
 * @see OWASP Password Storage Cheat Sheet (scrypt: N = 2^15, r = 8, p = 3); RFC 7914
 */

import { scrypt, timingSafeEqual } from "node:crypto";
import { Problem } from "@countersign/protocol";
import type { Random } from "../clock.ts";

interface Parameters {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

/** 32 MiB and about a third of a second of CPU time. */
const CURRENT: Parameters = { N: 2 ** 15, r: 8, p: 3 };

const SALT_BYTES = 16;
const HASH_BYTES = 32;
const MEMORY_BYTES_MAX = 256 * 1024 * 1024;

/** Maximum queue length; more are rejected. */
const WAITING_MAX = 30;
const RETRY_S = 5;

const STORED = /^scrypt\$N=(\d{1,8}),r=(\d{1,3}),p=(\d{1,3})\$([\w-]+)\$([\w-]+)$/;

export class PasswordHasher {
  readonly #random: Random;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(random: Random) {
    this.#random = random;
  }

  /**
   * @returns the stored form
   * @throws Problem `rate_limited` when the queue is full
   */
  async hash(password: string): Promise<string> {
    const salt = Buffer.from(this.#random.bytes(SALT_BYTES));
    const hash = await this.#compute(password, salt, CURRENT);
    const parameters = `N=${CURRENT.N},r=${CURRENT.r},p=${CURRENT.p}`;
    return ["scrypt", parameters, salt.toString("base64url"), hash.toString("base64url")].join("$");
  }

  /**
   * @param stored null for an unknown login: takes the same time and returns false
   * @throws Problem `rate_limited` when the queue is full
   */
  async verify(password: string, stored: string | null): Promise<boolean> {
    const known = stored === null ? undefined : parse(stored);
    const salt = known?.salt ?? Buffer.alloc(SALT_BYTES);
    const hash = await this.#compute(password, salt, known?.parameters ?? CURRENT);
    return known !== undefined && timingSafeEqual(hash, known.hash);
  }

  /** After all queued ones. */
  async #compute(password: string, salt: Buffer, parameters: Parameters): Promise<Buffer> {
    if (this.#waiting >= WAITING_MAX) {
      const message = "Too many users are signing in. Retry in a few seconds.";
      throw new Problem("rate_limited", message, { retryAfterS: RETRY_S });
    }
    this.#waiting++;
    const computed = this.#last.then(() => derive(password, salt, parameters));
    this.#last = computed.catch(() => {});
    try {
      return await computed;
    } finally {
      this.#waiting--;
    }
  }
}

function derive(password: string, salt: Buffer, parameters: Parameters): Promise<Buffer> {
  const options = { ...parameters, maxmem: MEMORY_BYTES_MAX };
  return new Promise((resolve, reject) => {
    scrypt(password, salt, HASH_BYTES, options, (error, hash) => {
      if (error === null) resolve(hash);
      else reject(error);
    });
  });
}

interface Known {
  readonly parameters: Parameters;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

function parse(stored: string): Known {
  const [, N, r, p, salt = "", hash = ""] = STORED.exec(stored) ?? [];
  const bytes = Buffer.from(hash, "base64url");
  if (bytes.length !== HASH_BYTES) throw new Error("a stored password hash is malformed");
  return {
    parameters: { N: Number(N), r: Number(r), p: Number(p) },
    salt: Buffer.from(salt, "base64url"),
    hash: bytes,
  };
}
