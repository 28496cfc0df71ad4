/** The open event streams of this process: their number, their feeds and their keepalive. */

import { Problem } from "@countersign/protocol";
import { systemClock } from "../../clock.ts";
import type { Context } from "../../context.ts";
import { KeyedSemaphore } from "../../keyed-semaphore.ts";
import { ProjectFeed } from "./project-feed.ts";

/** Of one session or token. */
const PER_CREDENTIAL_MAX = 8;

const STREAMS_MAX = 1_000;

const RETRY_S = 5;

/**
 * Interval of keepalive events. A reader that misses them has lost the connection, and must not
 * decide from stale data.
 */
export const KEEPALIVE_MS = 1_500;

/** One timer serves all streams, a part of them at each tick, which avoids bursts. */
const PULSE_PARTS = 6;

interface Stream {
  pulse(): void;
  /** Announces the shutdown and closes. */
  stop(): void;
}

export class EventStreams {
  readonly #context: Context;
  readonly #onFailure: (error: unknown) => void;
  /** By session or token. */
  readonly #slots = new KeyedSemaphore({ perKeyMax: PER_CREDENTIAL_MAX, totalMax: STREAMS_MAX });
  readonly #open = Array.from({ length: PULSE_PARTS }, () => new Set<Stream>());
  readonly #feeds = new Map<string, ProjectFeed>();
  readonly #unsubscribe: () => void;
  #isStopped = false;
  #added = 0;
  #cancelPulse: (() => void) | undefined;

  constructor(context: Context, onFailure: (error: unknown) => void) {
    this.#context = context;
    this.#onFailure = onFailure;
    this.#unsubscribe = context.wake.onSignal((signal) => {
      for (const feed of this.#feeds.values()) feed.receive(signal);
    });
  }

  /**
   * Acquires one of the limited number of streams.
   *
   * @param key session or token
   * @returns releases it
   * @throws Problem `rate_limited` when the key has too many, `unavailable` when the process has
   * too many or is stopping
   */
  acquire(key: string): () => void {
    if (this.#isStopped || this.#slots.isFull) {
      throw new Problem("unavailable", undefined, { retryAfterS: RETRY_S });
    }
    const release = this.#slots.tryAcquire(key);
    if (release !== undefined) return release;
    const count = `${PER_CREDENTIAL_MAX} event streams`;
    const message = `This session or token already has ${count}. Close one first.`;
    throw new Problem("rate_limited", message, { retryAfterS: RETRY_S });
  }

  /** The feed of a project. It closes when its last listener is removed. */
  feed(projectId: string): ProjectFeed {
    const feed =
      this.#feeds.get(projectId) ?? new ProjectFeed(this.#context, projectId, this.#onFailure);
    this.#feeds.set(projectId, feed);
    return feed;
  }

  leave(feed: ProjectFeed): void {
    if (feed.followers > 0 || this.#feeds.get(feed.projectId) !== feed) return;
    this.#feeds.delete(feed.projectId);
    feed.close();
  }

  /** @returns removes the stream */
  add(stream: Stream): () => void {
    const part = this.#open[this.#added++ % PULSE_PARTS];
    part?.add(stream);
    if (this.#isStopped) stream.stop();
    else if (this.#cancelPulse === undefined) this.#pulseLater(0);
    return () => part?.delete(stream);
  }

  /** Uses the system clock, because it is about the connection, like a socket timeout. */
  #pulseLater(turn: number): void {
    this.#cancelPulse = systemClock.after(KEEPALIVE_MS / PULSE_PARTS, () => {
      for (const stream of this.#open[turn] ?? []) stream.pulse();
      this.#cancelPulse = undefined;
      const isNeeded = !this.#isStopped && this.#open.some(({ size }) => size > 0);
      if (isNeeded) this.#pulseLater((turn + 1) % PULSE_PARTS);
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelPulse?.();
    this.#unsubscribe();
    for (const stream of this.#open.flatMap((part) => [...part])) stream.stop();
    for (const feed of this.#feeds.values()) feed.close();
  }
}
