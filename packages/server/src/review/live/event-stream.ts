/**
 * One stream of Server-Sent Events to one reader. Events are hints with ids. The reader fetches the
 * data through the API. After a reconnect, it fetches everything again.
 */

import { PassThrough } from "node:stream";
import { Problem } from "@countersign/protocol";
import type { StreamEvents } from "@countersign/review-api";
import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type EventStreams, KEEPALIVE_MS } from "./event-streams.ts";
import type { FeedHint, ProjectFeed } from "./project-feed.ts";

/** How often the permissions of the reader are checked again. */
const CALLER_MS = 2_000;

/** A reader with more unread bytes is disconnected. */
const UNREAD_BYTES_MAX = 64 * 1024;

/** How soon a browser reconnects. */
const RETRY_MS = 1_000;

const PULSE = event("pulse", {});

export interface StreamParts {
  readonly context: Context;
  readonly streams: EventStreams;
  readonly caller: ReviewerCaller;
  /** @throws Problem when the reader has lost the permission to read */
  readonly reauthenticate: () => Promise<ReviewerCaller>;
  readonly onFailure: (error: unknown) => void;
}

export class EventStream {
  readonly body = new PassThrough();
  readonly #parts: StreamParts;
  readonly #feed: ProjectFeed;
  readonly #onClose: (() => void)[] = [];
  #caller: ReviewerCaller;
  #cancelCheck = () => {};
  #isOpen = false;
  #isChecking = false;
  #isClosed = false;

  constructor(parts: StreamParts) {
    this.#parts = parts;
    this.#caller = parts.caller;
    this.#feed = parts.streams.feed(parts.caller.projectId);
    this.#onClose.push(this.#feed.follow((hint) => this.#pass(hint)));
  }

  /** @throws Failure when the database is not available; nothing was sent then */
  async open(): Promise<void> {
    try {
      await this.#feed.opened;
    } catch (error) {
      this.close();
      throw error;
    }
    this.body.on("error", () => this.close());
    this.#isOpen = true;
    this.#write(`retry: ${RETRY_MS}\n\n${event("ready", { pulse_ms: KEEPALIVE_MS })}`);
    const pulse = () => this.#write(PULSE);
    this.#onClose.push(this.#parts.streams.add({ pulse, stop: () => this.#end("shutdown") }));
    this.#checkLater();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancelCheck();
    for (const act of this.#onClose) act();
    this.#parts.streams.leave(this.#feed);
    this.body.end();
  }

  #pass(hint: FeedHint): void {
    // The reader fetches everything once it is ready.
    if (!this.#isOpen) return;
    if (hint.kind === "freezes") this.#write(event("freezes", {}));
    else if (hint.reviewerId === undefined || hint.reviewerId === this.#caller.reviewerId)
      this.#write(event("request", { id: hint.id }));
  }

  #checkLater(): void {
    if (this.#isClosed) return;
    this.#cancelCheck = this.#parts.context.clock.after(CALLER_MS, () => {
      void this.#check();
      this.#checkLater();
    });
  }

  async #check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      const caller = await this.#parts.reauthenticate();
      if (this.#isClosed) return;
      const before = this.#caller;
      this.#caller = caller;
      if (caller.projectId !== before.projectId) this.#end("project");
      else if (permissionsOf(caller) !== permissionsOf(before)) this.#write(event("caller", {}));
    } catch (error) {
      if (error instanceof Problem) this.#end("signed_out");
      // A database failure does not affect the reader's permissions.
      else this.#parts.onFailure(error);
    } finally {
      this.#isChecking = false;
    }
  }

  #end(reason: StreamEvents["end"]["reason"]): void {
    this.#write(event("end", { reason }));
    this.close();
  }

  #write(text: string): void {
    if (this.#isClosed) return;
    this.body.write(text);
    if (this.body.readableLength + this.body.writableLength <= UNREAD_BYTES_MAX) return;
    this.close();
    // Destroyed, because a graceful end would wait for a reader that does not read.
    this.body.destroy();
  }
}

/** All values that determine a reviewer's permissions. */
function permissionsOf({ role, groups, scopes, isBot, name }: ReviewerCaller): string {
  return JSON.stringify([role, groups, scopes, isBot, name]);
}

function event<Name extends keyof StreamEvents>(name: Name, data: StreamEvents[Name]): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
