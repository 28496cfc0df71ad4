/**
 * The streams that are open in this process: how many there may be, what they follow, how much of
 * what was sent is still unread, and that each says something all the time.
 *
 * Called by: event-routes.ts, event-stream.ts.
 */

import { Problem } from "@countersign/protocol";
import { systemClock } from "../../clock.ts";
import type { Context } from "../../context.ts";
import { ProjectFeed } from "./project-feed.ts";

/** Of one session or token. */
const OF_ONE_MAX = 8;

const IN_ALL_MAX = 1_000;

/** Bytes that wait for readers, over all streams. */
const UNREAD_BYTES_MAX = 64 * 1024 * 1024;

const RETRY_S = 5;

/**
 * How often each stream says that it is there. A connection can die without a word to either side,
 * and its reader, who may decide only what is true now, has no other way to tell.
 */
export const PULSE_MS = 1_500;

/** One timer is for all streams, and each of its ticks for a part of them: no burst of many. */
const PULSE_PARTS = 6;

interface Stream {
  /** Says that it is there. */
  pulse(): void;
  /** Says that the server stops, and ends. */
  stop(): void;
}

export class EventStreams {
  readonly #context: Context;
  readonly #onFailure: (error: unknown) => void;
  /** By session or token. */
  readonly #taken = new Map<string, number>();
  readonly #open = Array.from({ length: PULSE_PARTS }, () => new Set<Stream>());
  readonly #feeds = new Map<string, ProjectFeed>();
  readonly #unsubscribe: () => void;
  #isStopped = false;
  #added = 0;
  #cancelPulse: (() => void) | undefined;
  #taking = 0;
  #unread = 0;

  constructor(context: Context, onFailure: (error: unknown) => void) {
    this.#context = context;
    this.#onFailure = onFailure;
    this.#unsubscribe = context.wake.onSignal((signal) => {
      for (const feed of this.#feeds.values()) feed.hear(signal);
    });
  }

  /**
   * @param key session or token
   * @returns gives the place back
   * @throws Problem `rate_limited` when it has too many, `unavailable` when there are too many, or
   *   the server stops
   */
  take(key: string): () => void {
    const taken = this.#taken.get(key) ?? 0;
    if (this.#isStopped || this.#taking >= IN_ALL_MAX) {
      throw new Problem("unavailable", undefined, { retryAfterS: RETRY_S });
    }
    if (taken >= OF_ONE_MAX) {
      const message = `This session or token has ${OF_ONE_MAX} streams of events already.`;
      throw new Problem("rate_limited", message, { retryAfterS: RETRY_S });
    }
    this.#taking++;
    this.#taken.set(key, taken + 1);
    return () => {
      this.#taking--;
      const left = (this.#taken.get(key) ?? 1) - 1;
      if (left === 0) this.#taken.delete(key);
      else this.#taken.set(key, left);
    };
  }

  /** What happens in a project, for as long as somebody follows it. */
  feed(projectId: string): ProjectFeed {
    const feed =
      this.#feeds.get(projectId) ?? new ProjectFeed(this.#context, projectId, this.#onFailure);
    this.#feeds.set(projectId, feed);
    return feed;
  }

  /** Nobody may follow it any more. */
  leave(feed: ProjectFeed): void {
    if (feed.followers > 0 || this.#feeds.get(feed.projectId) !== feed) return;
    this.#feeds.delete(feed.projectId);
    feed.end();
  }

  add(stream: Stream): () => void {
    const part = this.#open[this.#added++ % PULSE_PARTS];
    part?.add(stream);
    if (this.#isStopped) stream.stop();
    else if (this.#cancelPulse === undefined) this.#pulseLater(0);
    return () => part?.delete(stream);
  }

  /**
   * In real time, also where a test or a simulation sets the clock: like the timeouts of Node's own
   * sockets it is about the connection, and decides nothing.
   */
  #pulseLater(turn: number): void {
    this.#cancelPulse = systemClock.after(PULSE_MS / PULSE_PARTS, () => {
      for (const stream of this.#open[turn] ?? []) stream.pulse();
      this.#cancelPulse = undefined;
      const isNeeded = !this.#isStopped && this.#open.some(({ size }) => size > 0);
      if (isNeeded) this.#pulseLater((turn + 1) % PULSE_PARTS);
    });
  }

  /** @returns whether there is room for so much more that is unread */
  countUnread(bytes: number): boolean {
    this.#unread += bytes;
    return this.#unread <= UNREAD_BYTES_MAX;
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelPulse?.();
    this.#unsubscribe();
    for (const stream of this.#open.flatMap((part) => [...part])) stream.stop();
    for (const feed of this.#feeds.values()) feed.end();
  }
}
