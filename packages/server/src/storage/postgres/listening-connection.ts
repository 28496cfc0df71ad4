/**
 * One connection that listens, from its making to its end.
 */

import { Client } from "pg";
import type { Clock } from "../../clock.ts";
import type { SqlValue } from "../store.ts";

/** What replicas call to each other on. */
const NAME = "countersign_wake";

const NOTIFY = "select pg_notify($1, $2)";

const CONNECT_MS_MAX = 5_000;
const ANSWER_MS_MAX = 5_000;

/** Prefix of probes to oneself; all replicas receive them. */
const PROBE = "probe ";

export interface ConnectionListener {
  onMessage(message: string): void;

  /** The connection is lost. May be called more than once. */
  onBroken(error: Error): void;
}

/** Runs a statement on a connection of the pool that exchanges use. */
export type Query = (sql: string, values: readonly SqlValue[]) => Promise<unknown>;

export interface ConnectionOptions extends ConnectionListener {
  readonly url: string;
  /** That no other connection has. */
  readonly id: string;
  readonly clock: Clock;
  readonly query: Query;
}

export class ListeningConnection {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #probe: string;
  readonly #query: Query;
  #onProbe = () => {};

  constructor({ url, id, clock, query, onMessage, onBroken }: ConnectionOptions) {
    this.#clock = clock;
    this.#query = query;
    this.#probe = PROBE + id;
    this.#client = new Client({
      connectionString: url,
      application_name: "countersign wake",
      connectionTimeoutMillis: CONNECT_MS_MAX,
      query_timeout: ANSWER_MS_MAX,
      keepAlive: true,
      pipeline: true,
    });
    this.#client.on("error", onBroken);
    this.#client.on("end", () => onBroken(new Error("the connection has ended")));
    this.#client.on("notification", ({ channel, payload = "" }) => {
      if (payload === this.#probe) this.#onProbe();
      else if (channel === NAME && !payload.startsWith(PROBE)) onMessage(payload);
    });
  }

  /** @throws whatever the driver throws, or when it turns out not to listen */
  async listen(): Promise<void> {
    await this.#client.connect();
    await this.#client.query(`listen ${NAME}`);
    // Twice: a pooler may lend the connection that listens to the first of them.
    await this.probe();
    await this.probe();
  }

  /** @throws whatever the driver throws */
  async notify(message: string): Promise<void> {
    await this.#client.query(NOTIFY, [NAME, message]);
  }

  /**
   * Notifies itself from a connection of the pool, as other replicas do. A pooler that lends
   * connections for one transaction accepts LISTEN and then delivers only what is sent on the same
   * connection; a connection that died silently receives nothing either.
   *
   * @throws Failure when the pool could not send it, an Error when it does not arrive in time
   */
  async probe(): Promise<void> {
    const returned = new Promise<void>((resolve, reject) => {
      const cancel = this.#clock.after(ANSWER_MS_MAX, () => {
        reject(new Error("its own notifications do not arrive"));
      });
      this.#onProbe = () => {
        cancel();
        resolve();
      };
    });
    await Promise.all([this.#query(NOTIFY, [NAME, this.#probe]), returned]);
  }

  /** Waits for what is under way. */
  async end(): Promise<void> {
    await this.#client.end();
  }
}
