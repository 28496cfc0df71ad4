/**
 * One stream of events: to one reader, about the project that they look at, until they go or may
 * not look any more. What it has to say is the state of things, so whoever reads it twice is none
 * the worse; and what it remembers is bounded, whatever the reader does.
 *
 * Called by: event-routes.ts.
 */

import { PassThrough } from "node:stream";
import { formatTimestamp, Problem } from "@countersign/protocol";
import { writeJson } from "@countersign/review-api";
import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import type { ReviewedFreeze } from "../../operations/freezes/listFreezes.ts";
import { readTouched, readWatched, wasPending } from "../../operations/live/watchProject.ts";
import {
  type GatheredRequest,
  NOBODY,
  reviewFor,
  type Signer,
  toSigner,
} from "../../operations/requests/reviewRequests.ts";
import { needsPasskey } from "../../policy/decider.ts";
import { toWireFreeze } from "../freezes/freeze-to-wire.ts";
import { writeShownRequest } from "../requests/request-to-wire.ts";
import {
  type EventCursor,
  readCursor,
  requestMark,
  SETTLED_MS,
  scopeMark,
  stateMark,
  ToldStates,
  writeCursor,
} from "./event-cursor.ts";
import { type EventStreams, PULSE_MS } from "./event-streams.ts";
import type { Change, ProjectFeed } from "./project-feed.ts";

const HEARTBEAT_MS = 10_000;

/** How often it is asked whether the reader may still look. */
const CALLER_MS = 2_000;

/** A longer request is not sent along: the reader asks for it. */
const REQUEST_CHARS_MAX = 256 * 1024;

/** What a reader may leave unread. */
const UNREAD_BYTES_MAX = 4 * 1024 * 1024;

/** What may wait for the sending of what came before it. */
const WAITING_MAX = 1_000;

/** What happened longer ago is not looked up. */
const RESUMED_MS_MAX = 3_600_000;

/** Of what happened just before a reader came. */
const PASSED_OVER_MAX = 50;

/** How soon a browser comes again when the connection broke. */
const RETRY_MS = 1_000;

/** Without an id, which would be made for each reader: where one is stays as it was. */
const PULSE = event("pulse", undefined, "{}");

export type EndReason = "signed_out" | "project" | "shutdown";

export interface StreamParts {
  readonly context: Context;
  readonly streams: EventStreams;
  readonly caller: ReviewerCaller;
  readonly publicUrl: () => string;
  /** @throws Problem when the reader may not look any more */
  readonly lookAgain: () => Promise<ReviewerCaller>;
  readonly onFailure: (error: unknown) => void;
  /** What the reader brought along. */
  readonly lastEventId: string | undefined;
}

export class EventStream {
  readonly body = new PassThrough();
  readonly #parts: StreamParts;
  readonly #feed: ProjectFeed;
  readonly #told = new ToldStates();
  readonly #scope: string;
  readonly #waiting: Change[] = [];
  readonly #endings: (() => void)[] = [];
  #caller: ReviewerCaller;
  #freezes = "";
  #isReady = false;
  #isSending = false;
  #isLooking = false;
  #isOver = false;
  #unread = 0;

  constructor(parts: StreamParts) {
    this.#parts = parts;
    this.#caller = parts.caller;
    const { projectId, reviewerId } = parts.caller;
    this.#scope = scopeMark(projectId, reviewerId);
    this.#feed = parts.streams.feed(projectId);
    this.#endings.push(this.#feed.follow((change) => this.#queue(change)));
  }

  /** @throws Failure when the database does not tell what is there; then nothing was sent */
  async begin(): Promise<void> {
    try {
      await this.#feed.begun;
    } catch (error) {
      this.close();
      throw error;
    }
    this.body.on("error", () => this.close());
    this.body.write(`retry: ${RETRY_MS}\n\n`);
    const { streams } = this.#parts;
    const pulse = () => this.#put(PULSE);
    this.#endings.push(streams.add({ pulse, stop: () => this.#end("shutdown") }));
    this.#every(HEARTBEAT_MS, () => this.#beat());
    this.#every(CALLER_MS, () => void this.#lookAgain());
    void this.#open();
  }

  /** The reader has gone, or is sent away. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const end of this.#endings) end();
    this.#parts.streams.countUnread(-this.#unread);
    this.#unread = 0;
    this.#parts.streams.leave(this.#feed);
    this.body.end();
  }

  #every(ms: number, act: () => void): void {
    let cancel = () => {};
    const sleep = () => {
      cancel = this.#parts.context.clock.after(ms, () => {
        act();
        if (!this.#isOver) sleep();
      });
    };
    sleep();
    this.#endings.push(() => cancel());
  }

  async #open(): Promise<void> {
    const { lastEventId } = this.#parts;
    try {
      const cursor = lastEventId === undefined ? undefined : this.#readCursor(lastEventId);
      const touched =
        cursor && (await readTouched(this.#parts.context, this.#caller.projectId, cursor.since));
      if (lastEventId !== undefined && touched === undefined) this.#reset("unknown");
      const isResumed = cursor !== undefined && touched !== undefined;
      if (isResumed) this.#told.resume(cursor, this.#now());
      else await this.#passOver();
      this.#freezes = freezesMark(this.#feed.freezes);
      this.#write("ready", {
        ...this.#counted(),
        resumed: isResumed,
        pulse_ms: PULSE_MS,
        freezes: rawFreezes(this.#feed.freezes),
      });
      if (isResumed) await this.#catchUp(cursor, touched);
      this.#isReady = true;
      await this.#sendWaiting();
    } catch (error) {
      // It comes again, with what it was told last.
      this.#parts.onFailure(error);
      this.close();
    }
  }

  #readCursor(text: string): EventCursor | undefined {
    const cursor = readCursor(text, this.#scope);
    const now = this.#now();
    const isKnown =
      cursor !== undefined &&
      cursor.since > now - RESUMED_MS_MAX &&
      cursor.since < now + SETTLED_MS;
    return isKnown ? cursor : undefined;
  }

  /**
   * What the reader is about to list, and would be told again if it came back soon. Of much it is
   * told again, which is as good.
   */
  async #passOver(): Promise<void> {
    const { context } = this.#parts;
    const { projectId } = this.#caller;
    const ids = await readTouched(context, projectId, this.#now() - SETTLED_MS);
    if (ids === undefined || ids.length > PASSED_OVER_MAX) return;
    for await (const gathered of readWatched(context, projectId, ids)) {
      if (!wasPending(gathered.request)) continue;
      this.#told.tell(gathered.request.id, stateOf(gathered, this.#caller), this.#now());
    }
  }

  /** What has changed since the reader was told last. */
  async #catchUp(cursor: EventCursor, ids: readonly string[]): Promise<void> {
    const { context } = this.#parts;
    for await (const gathered of readWatched(context, this.#caller.projectId, ids)) {
      if (this.#isOver) return;
      const { request } = gathered;
      const isKnown = cursor.told.has(requestMark(request.id));
      if (!isKnown && !wasPending(request)) continue;
      const isNew = !isKnown && request.createdAt >= cursor.since;
      const pending = isNew ? "opened" : "changed";
      await this.#sendRequest(request.decision === null ? pending : "resolved", gathered);
    }
  }

  #queue(change: Change): void {
    if (this.#isOver) return;
    if (this.#waiting.length >= WAITING_MAX) this.close();
    else {
      this.#waiting.push(change);
      if (this.#isReady) void this.#sendWaiting();
    }
  }

  async #sendWaiting(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      for (let change = this.#waiting.shift(); change; change = this.#waiting.shift()) {
        if (this.#isOver) return;
        await this.#send(change);
      }
    } catch (error) {
      this.#parts.onFailure(error);
      this.close();
    } finally {
      this.#isSending = false;
    }
  }

  async #send(change: Change): Promise<void> {
    if (change.kind === "freezes") {
      const mark = freezesMark(change.freezes);
      if (mark === this.#freezes) return;
      this.#freezes = mark;
      this.#write("freezes", { freezes: rawFreezes(change.freezes), now: this.#time() });
    } else if (change.only === undefined || change.only.has(this.#caller.reviewerId)) {
      await this.#sendRequest(change.step, change.gathered);
    }
  }

  async #sendRequest(
    step: "opened" | "changed" | "resolved",
    gathered: GatheredRequest,
  ): Promise<void> {
    const signer = await this.#signer(gathered);
    const now = this.#now();
    const { id } = gathered.request;
    if (!this.#told.tell(id, stateOf(gathered, this.#caller), now)) return;
    const reviewed = reviewFor(this.#caller, signer, gathered, now);
    const text = writeShownRequest(reviewed, this.#time(), this.#parts.publicUrl());
    // A carriage return would reach the reader as a line feed.
    const isExact = text.length <= REQUEST_CHARS_MAX && !text.includes("\r");
    const request = new Raw(isExact ? text : "null");
    this.#write(`request.${step}`, { id, request, now: this.#time() });
  }

  async #signer({ requirement, request }: GatheredRequest): Promise<Signer> {
    const isAsked = request.decision === null && needsPasskey(requirement);
    return isAsked ? toSigner(this.#parts.context.store, this.#caller) : NOBODY;
  }

  #beat(): void {
    if (this.#isReady) this.#write("heartbeat", this.#counted());
    else this.#put(":\n\n");
  }

  async #lookAgain(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const caller = await this.#parts.lookAgain();
      if (this.#isOver) return;
      const isElsewhere = caller.projectId !== this.#caller.projectId;
      const isOther = powersOf(caller) !== powersOf(this.#caller);
      this.#caller = caller;
      if (isElsewhere) this.#end("project");
      else if (isOther) this.#reset("caller");
    } catch (error) {
      if (error instanceof Problem) this.#end("signed_out");
      // A database that is away says nothing about anybody.
      else this.#parts.onFailure(error);
    } finally {
      this.#isLooking = false;
    }
  }

  #reset(reason: "unknown" | "caller"): void {
    this.#put(event("reset", undefined, JSON.stringify({ reason })));
  }

  #end(reason: EndReason): void {
    if (this.#isOver) return;
    this.#put(event("end", undefined, JSON.stringify({ reason })));
    this.close();
  }

  #counted(): Readonly<Record<string, string | number>> {
    return { now: this.#time(), pending: this.#feed.pending };
  }

  #now(): number {
    return this.#parts.context.clock.now();
  }

  #time(): string {
    return formatTimestamp(this.#now());
  }

  #write(name: string, data: Readonly<Record<string, Raw | string | number | boolean>>): void {
    const members = Object.entries(data).map(
      ([key, value]) => `"${key}":${value instanceof Raw ? value.text : JSON.stringify(value)}`,
    );
    const id = writeCursor(this.#scope, this.#freezes, this.#told, this.#now());
    this.#put(event(name, id, `{${members.join(",")}}`));
  }

  #put(text: string): void {
    if (this.#isOver) return;
    this.body.write(text);
    const unread = this.body.readableLength + this.body.writableLength;
    const hasRoom = this.#parts.streams.countUnread(unread - this.#unread);
    this.#unread = unread;
    if (unread <= UNREAD_BYTES_MAX && hasRoom) return;
    this.close();
    // Not ended: what it did not read is nothing to wait for.
    this.body.destroy();
  }
}

/** JSON that is written already. */
class Raw {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

function rawFreezes(freezes: readonly ReviewedFreeze[]): Raw {
  return new Raw(writeJson(freezes.map(toWireFreeze)));
}

function freezesMark(freezes: readonly ReviewedFreeze[]): string {
  return stateMark(freezes.map(({ freeze }) => freeze.id).join());
}

/** What can change of a request, as this reviewer sees it. */
function stateOf(
  { request, votes, held }: GatheredRequest,
  { reviewerId }: ReviewerCaller,
): string {
  const own = held.find((one) => one.reviewerId === reviewerId);
  return JSON.stringify([
    request.status,
    votes.map((vote) => [vote.reviewerId, vote.votedAt]),
    own && [own.verdict, own.heldAt],
  ]);
}

/** All that decides what a reviewer may do. */
function powersOf({ role, groups, scopes, isBot, name }: ReviewerCaller): string {
  return JSON.stringify([role, groups, scopes, isBot, name]);
}

/** A line break of exact text begins another line of data; the reader puts it back. */
function event(name: string, id: string | undefined, data: string): string {
  const lines = data.replaceAll("\n", "\ndata: ");
  return `event: ${name}\n${id === undefined ? "" : `id: ${id}\n`}data: ${lines}\n\n`;
}
