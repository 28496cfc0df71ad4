/** One listening connection, from open to close. */

import { Client } from "pg";
import type { Clock } from "../../clock.ts";
import type { SqlValue } from "../store.ts";

/** The notification channel of all replicas. */
const NAME = "countersign_wake";

const NOTIFY = "select pg_notify($1, $2)";

const CONNECT_MS_MAX = 5_000;
const ANSWER_MS_MAX = 5_000;

/** Prefix of probes to itself; all replicas receive them. */
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
  /** Unique for this connection. */
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

  /** @throws the driver's errors, and an Error when it does not receive its own probe */
  async listen(): Promise<void> {
    await this.#client.connect();
    await this.#client.query(`listen ${NAME}`);
    // Twice, because a pooler may use the listening connection for the first probe.
    await this.probe();
    await this.probe();
  }

  /** @throws the driver's errors */
  async notify(message: string): Promise<void> {
    await this.#client.query(NOTIFY, [NAME, message]);
  }

  /**
   * Notifies itself from a pooled connection, as other replicas do. A transaction pooler accepts
   * LISTEN but then delivers only notifications of the same connection. A connection that failed
   * silently receives nothing.
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

  /** Waits for queries in flight. */
  async end(): Promise<void> {
    await this.#client.end();
  }
}
