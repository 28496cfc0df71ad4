/**
 * Records used approvals in Redis or Valkey, through any client. `SET NX` lets exactly one caller
 * consume an id, and the server deletes each record after its retention.
 *
 * Redis loses records if it crashes before it has written them to its append-only file, or before
 * a replica that takes over has received them. A call can then run a second time.
 */

import type { ConsumptionStore } from "./consumption-store.ts";
import { digestOf } from "./digest.ts";
import { type Duration, readDuration } from "./duration.ts";
import { SdkError } from "./errors.ts";
import { STORE_RETENTION_MS } from "./hourly-pruning.ts";
import { assertKnownOptions } from "./known-options.ts";

/** Connects a {@link RedisStore} to a server. `nodeRedis` and `ioredis` create it for a client. */
export interface RedisConnection {
  /**
   * Sends one command with its arguments, such as `["GET", "key"]`. Rejects if it failed, or if its
   * result is unknown.
   *
   * @returns the reply: a string, a number, or null
   */
  command(args: readonly string[]): Promise<unknown>;
}

/** The part of a client of the package `redis` that the store uses. */
export interface NodeRedisClient {
  /** Sends a command, such as `["GET", "key"]`. */
  sendCommand(args: string[]): Promise<unknown>;
}

/** The part of a client of the package `ioredis` that the store uses. */
export interface IoredisClient {
  /** Sends a command with its arguments. */
  call(command: string, args: string[]): Promise<unknown>;
}

/** Connects a store to a client of the package `redis`. */
export function nodeRedis(client: NodeRedisClient): RedisConnection {
  return { command: (args) => client.sendCommand([...args]) };
}

/** Connects a store to a client of the package `ioredis`. */
export function ioredis(client: IoredisClient): RedisConnection {
  return { command: ([name = "", ...args]) => client.call(name, args) };
}

/** Options of a {@link RedisStore}. */
export interface RedisStoreOptions {
  /** Start of every key. Default: `countersign:consumption:`. */
  readonly prefix?: string | undefined;
  /**
   * How long Redis keeps a record: at least `192h` (8 days), which is the default, and at most 24
   * days. A shorter time could let a call run again.
   */
  readonly retention?: Duration | undefined;
}

const PREFIX = "countersign:consumption:";

/** Stores used approvals, and results of calls, as keys that expire. */
export class RedisStore implements ConsumptionStore {
  readonly #connection: RedisConnection;
  readonly #prefix: string;
  readonly #retentionMs: string;

  /**
   * @param connection `nodeRedis(client)`, `ioredis(client)`, or your own {@link RedisConnection}
   * @throws SdkError `invalid_option` without a command function, or for a shorter retention
   */
  constructor(connection: RedisConnection, options: RedisStoreOptions = {}) {
    const { prefix = PREFIX, retention } = options;
    if (typeof connection?.command !== "function") {
      throw invalid(
        "RedisStore needs a connection. Use new RedisStore(nodeRedis(client)), " +
          "new RedisStore(ioredis(client)), or an object with a command function.",
      );
    }
    assertKnownOptions("new RedisStore()", options, ["prefix", "retention"]);
    const retentionMs = readDuration("retention", retention, STORE_RETENTION_MS);
    if (retentionMs < STORE_RETENTION_MS) {
      throw invalid(`Invalid retention: "${retention}". Expected at least 192h (8 days).`);
    }
    this.#connection = connection;
    this.#prefix = prefix;
    this.#retentionMs = String(retentionMs);
  }

  async consume(id: string): Promise<boolean> {
    return this.#setOnce(await this.#keyOf(id), id);
  }

  async has(id: string): Promise<boolean> {
    return (await this.#get(await this.#keyOf(id))) !== undefined;
  }

  async saveResult(id: string, text: string): Promise<void> {
    await this.#setOnce(await this.#resultKeyOf(id), text);
  }

  async loadResult(id: string): Promise<string | undefined> {
    return this.#get(await this.#resultKeyOf(id));
  }

  async #setOnce(key: string, value: string): Promise<boolean> {
    const reply = await this.#send("SET", key, value, "NX", "PX", this.#retentionMs);
    if (reply === "OK") return true;
    if (reply === null) return false;
    throw unexpected("SET", reply);
  }

  async #get(key: string): Promise<string | undefined> {
    const reply = await this.#send("GET", key);
    if (typeof reply === "string") return reply;
    if (reply === null) return undefined;
    throw unexpected("GET", reply);
  }

  #send(...args: readonly string[]): Promise<unknown> {
    return this.#connection.command(args);
  }

  async #keyOf(id: string): Promise<string> {
    return this.#prefix + (await digestOf(id));
  }

  async #resultKeyOf(id: string): Promise<string> {
    return `${await this.#keyOf(id)}:result`;
  }
}

function invalid(message: string): SdkError {
  return new SdkError("invalid_option", message);
}

/** Such as a Buffer, or `QUEUED` inside a transaction. */
function unexpected(command: string, reply: unknown): Error {
  return new Error(
    `Redis returned ${typeof reply} instead of a string or null to ${command}. ` +
      "Use a client that returns strings, outside of MULTI.",
  );
}
