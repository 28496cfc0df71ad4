/**
 * Messages between replicas over LISTEN and NOTIFY, on a connection that stays open and does
 * nothing else. Where there is none, because it broke, a transaction pooler stands in between or
 * the engine knows no LISTEN, it says so once and tries again now and then.
 *
 * A NOTIFY is a transaction of its own: at its commit it takes a lock that all NOTIFY of the server
 * take, and no decision may wait for it.
 */

import { type Clock, type Random, systemClock } from "../../clock.ts";
import { Failure } from "../../failure.ts";
import type { ReplicaBus, ReplicaBusListener } from "../replica-bus.ts";
import { reasonOf, toThrown } from "./errors.ts";
import { ListeningConnection, type Query } from "./listening-connection.ts";

/** Between calls to itself, which find a connection that died in silence. */
const PROBE_MS = 10_000;

/** Before the second try; doubled for each one after it. */
const PAUSE_MS = 250;
const PAUSE_MS_MAX = 30_000;

/** For a connection to say goodbye. */
const GOODBYE_MS_MAX = 1_000;

export interface PostgresChannelOptions {
  /** Of a connection that stays this process's own. May hold a password. */
  readonly url: string;
  readonly query: Query;
  readonly random: Random;
  /** Of its pauses and of how long it waits for itself. */
  readonly clock?: Clock | undefined;
}

export class PostgresBus implements ReplicaBus {
  /** PostgreSQL takes less than 8,000. */
  readonly messageBytesMax = 7_900;
  readonly #url: string;
  readonly #query: Query;
  readonly #random: Random;
  readonly #clock: Clock;
  #listener: ReplicaBusListener | undefined;
  /** The one that listens, or is about to. */
  #connection: ListeningConnection | undefined;
  #isListening = false;
  /** The loss was reported. */
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
          // Only now: what breaks at once, again and again, is not tried more often for that.
          this.#pauseMs = PAUSE_MS;
          this.#probeLater(connection);
        },
        (error: unknown) => {
          // The pool could not send it, so nothing is known of the connection that listens.
          if (error instanceof Failure) this.#probeLater(connection);
          else this.#replace(connection, error);
        },
      );
    });
  }

  /** Gives up a connection, and makes another one later. */
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
      "cannot receive notifications of other replicas, so their decisions arrive up to a second " +
      "late; set database_direct_url to a connection without a transaction pooler";
    this.#listener?.onLost(new Failure("wake", `${summary}: ${reason}`));
  }

  /** Half of the pause and more, so that replicas do not come back all at once. */
  #nextPauseMs(): number {
    const [chance = 0] = this.#random.bytes(1);
    const pauseMs = this.#pauseMs * (0.5 + chance / 510);
    this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSE_MS_MAX);
    return pauseMs;
  }

  /** A dead one never says goodbye. */
  async #end(connection: ListeningConnection | undefined): Promise<void> {
    let cancel = () => {};
    const late = new Promise<void>((resolve) => {
      cancel = systemClock.after(GOODBYE_MS_MAX, resolve);
    });
    await Promise.race([connection?.end().catch(() => {}), late]);
    cancel();
  }
}
