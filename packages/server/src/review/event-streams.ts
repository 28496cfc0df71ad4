/**
 * The streams that are open in this process: how many there may be, what they follow, and how much
 * of what was sent is still unread.
 *
 * Called by: event-routes.ts.
 */

import { Problem } from "@countersign/protocol";
import type { Context } from "../context.ts";
import { ProjectFeed } from "./project-feed.ts";

/** Of one session or token. */
const OF_ONE_MAX = 8;

const IN_ALL_MAX = 1_000;

/** Bytes that wait for readers, over all streams. */
const UNREAD_BYTES_MAX = 64 * 1024 * 1024;

const RETRY_S = 5;

interface Stream {
  /** Says that the server stops, and ends. */
  stop(): void;
}

export class EventStreams {
  readonly #context: Context;
  readonly #onFailure: (error: unknown) => void;
  /** By session or token. */
  readonly #taken = new Map<string, number>();
  readonly #open = new Set<Stream>();
  readonly #feeds = new Map<string, ProjectFeed>();
  readonly #unsubscribe: () => void;
  #isStopped = false;
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
    this.#open.add(stream);
    if (this.#isStopped) stream.stop();
    return () => this.#open.delete(stream);
  }

  /** @returns whether there is room for so much more that is unread */
  countUnread(bytes: number): boolean {
    this.#unread += bytes;
    return this.#unread <= UNREAD_BYTES_MAX;
  }

  stop(): void {
    this.#isStopped = true;
    this.#unsubscribe();
    for (const stream of [...this.#open]) stream.stop();
    for (const feed of this.#feeds.values()) feed.end();
  }
}
