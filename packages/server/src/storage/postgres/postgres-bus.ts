/**
 * Sends messages between replicas with LISTEN and NOTIFY, on a dedicated open connection. Without
 * one, because it broke, a transaction pooler is in between or the engine does not support LISTEN,
 * it reports the loss once and retries at intervals.
 *
 * A NOTIFY is a separate transaction: its commit takes a lock that all NOTIFYs of the server share,
 * and no decision may wait for it.
 */

import { type Clock, type Random, systemClock } from "../../clock.ts";
import { Failure } from "../../failure.ts";
import type { ReplicaBus, ReplicaBusListener } from "../replica-bus.ts";
import { reasonOf, toThrown } from "./errors.ts";
import { ListeningConnection, type Query } from "./listening-connection.ts";

/** Interval of probes, which detect a connection that failed silently. */
const PROBE_MS = 10_000;

/** Pause before the second attempt; it doubles with each further one. */
const PAUSE_MS = 250;
const PAUSE_MS_MAX = 30_000;

/** Time limit for closing a connection. */
const GOODBYE_MS_MAX = 1_000;

export interface PostgresChannelOptions {
  /** URL of the dedicated connection. May contain a password. */
  readonly url: string;
  readonly query: Query;
  readonly random: Random;
  /** For pauses and probe timeouts. */
  readonly clock?: Clock | undefined;
}

export class PostgresBus implements ReplicaBus {
  /** PostgreSQL limits a payload to less than 8,000 bytes. */
  readonly messageBytesMax = 7_900;
  readonly #url: string;
  readonly #query: Query;
  readonly #random: Random;
  readonly #clock: Clock;
  #listener: ReplicaBusListener | undefined;
  /** The listening connection, or the one that is being opened. */
  #connection: ListeningConnection | undefined;
  #isListening = false;
  /** True after the loss was reported. */
  #isLost = false;
  #isClosed = false;
  #pauseMs = PAUSE_MS;
  #cancel = () => {};

  constructor({ url, query, random, clock = systemClock }: PostgresChannelOptions) {
    this.#url = url;
    this.#query = query;
    this.#random = random;
    this.#clock = clock;
  }

  open(listener: ReplicaBusListener): void {
    this.#listener = listener;
    this.#connect();
  }

  async send(message: string): Promise<boolean> {
    const connection = this.#isListening ? this.#connection : undefined;
    if (connection === undefined) return false;
    try {
      await connection.notify(message);
      return true;
    } catch (error) {
      this.#replace(connection, error);
      return false;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#isListening = false;
    this.#cancel();
    await this.#end(this.#connection);
  }

  #connect(): void {
    const connection = new ListeningConnection({
      url: this.#url,
      id: this.#random.uuid(),
      clock: this.#clock,
      query: this.#query,
      onMessage: (message) => {
        if (this.#isCurrent(connection)) this.#listener?.onMessage(message);
      },
      onBroken: (error) => this.#replace(connection, error),
    });
    this.#connection = connection;
    connection.listen().then(
      () => this.#use(connection),
      (error: unknown) => this.#replace(connection, error),
    );
  }

  #use(connection: ListeningConnection): void {
    if (!this.#isCurrent(connection)) return;
    this.#isListening = true;
    this.#isLost = false;
    this.#probeLater(connection);
    this.#listener?.onListening();
  }

  #probeLater(connection: ListeningConnection): void {
    if (!this.#isCurrent(connection)) return;
    this.#cancel = this.#clock.after(PROBE_MS, () => {
      connection.probe().then(
        () => {
          // Reset only now, so that a connection that breaks at once is not retried more often.
          this.#pauseMs = PAUSE_MS;
          this.#probeLater(connection);
        },
        (error: unknown) => {
          // The pool could not send the probe, so the state of the connection is unknown.
          if (error instanceof Failure) this.#probeLater(connection);
          else this.#replace(connection, error);
        },
      );
    });
  }

  /** Closes a connection, and opens another one later. */
  #replace(connection: ListeningConnection, error: unknown): void {
    if (!this.#isCurrent(connection)) return;
    this.#connection = undefined;
    this.#isListening = false;
    this.#cancel();
    this.#end(connection);
    this.#cancel = this.#clock.after(this.#nextPauseMs(), () => this.#connect());
    this.#reportLost(error);
  }

  #isCurrent(connection: ListeningConnection): boolean {
    return connection === this.#connection && !this.#isClosed;
  }

  #reportLost(error: unknown): void {
    if (this.#isLost) return;
    this.#isLost = true;
    const { cause, message } = toThrown(error);
    const reason = cause === undefined ? message : reasonOf(cause);
    const summary =
      "cannot receive messages of other replicas, so their decisions arrive up to a second " +
      "late; set database_direct_url to a connection without a transaction pooler";
    this.#listener?.onLost(new Failure("wake", `${summary}: ${reason}`));
  }

  /**
   * At least half of the pause, with jitter, so that replicas do not reconnect at the same time.
   */
  #nextPauseMs(): number {
    const [chance = 0] = this.#random.bytes(1);
    const pauseMs = this.#pauseMs * (0.5 + chance / 510);
    this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSE_MS_MAX);
    return pauseMs;
  }

  /** A failed connection never confirms the close. */
  async #end(connection: ListeningConnection | undefined): Promise<void> {
    let cancel = () => {};
    const late = new Promise<void>((resolve) => {
      cancel = systemClock.after(GOODBYE_MS_MAX, resolve);
    });
    await Promise.race([connection?.end().catch(() => {}), late]);
    cancel();
  }
}
