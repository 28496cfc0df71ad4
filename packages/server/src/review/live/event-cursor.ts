/**
 * The id of an event: what its reader has been told by then, so that any replica, also one that was
 * just started, can go on from there. Nobody keeps anything for a reader who is away.
 *
 *   1.SCOPE.SINCE.FREEZES.TOLD
 *
 * What happened long enough before the event to be committed by then was told; of the time since,
 * TOLD has a mark for each request and for the state of it that was told last. Pure: the time is
 * given.
 *
 * Called by: event-stream.ts.
 */

import { createHash } from "node:crypto";

/**
 * How long before an event something may have happened and not been told: a transition has its time
 * before its commit, and some have to wait for that.
 */
export const SETTLED_MS = 15_000;

/** With more requests told within that time there is no id to resume from. */
const TOLD_MAX = 100;

const REQUEST_CHARS = 6;
const STATE_CHARS = 4;

const FORMAT = /^1\.([\w-]{8})\.([0-9a-z]{1,10})\.([\w-]{4})\.((?:[\w-]{10}){0,100})$/;

/** Where a reader is. */
export interface EventCursor {
  /** Epoch ms: what happened before was told. */
  readonly since: number;
  /** The mark of the freezes in force that were told last. */
  readonly freezes: string;
  /** By the mark of a request, that of the state that was told last; of those told since. */
  readonly told: ReadonlyMap<string, string>;
}

/** What a reader was told since some time, in its order. */
export class ToldStates {
  readonly #told = new Map<string, { readonly state: string; readonly at: number }>();

  /** @returns false when the reader was told this very state last */
  tell(requestId: string, state: string, now: number): boolean {
    const request = requestMark(requestId);
    const mark = stateMark(state);
    const isNew = this.#told.get(request)?.state !== mark;
    // In the order in which they were told last.
    this.#told.delete(request);
    this.#told.set(request, { state: mark, at: now });
    return isNew;
  }

  /** Takes over what the reader brought along. */
  resume({ told }: EventCursor, now: number): void {
    for (const [request, state] of told) this.#told.set(request, { state, at: now });
  }

  /** @returns undefined when it was told too much */
  toText(now: number): string | undefined {
    for (const [request, { at }] of this.#told) {
      if (at > now - SETTLED_MS) break;
      this.#told.delete(request);
    }
    if (this.#told.size > TOLD_MAX) return undefined;
    return [...this.#told].map(([request, { state }]) => request + state).join("");
  }
}

/** Whose stream of what an id belongs to. */
export function scopeMark(projectId: string, reviewerId: string): string {
  return mark(`${projectId} ${reviewerId}`, 8);
}

export function requestMark(requestId: string): string {
  return mark(requestId, REQUEST_CHARS);
}

export function stateMark(state: string): string {
  return mark(state, STATE_CHARS);
}

function mark(text: string, chars: number): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, chars);
}

/** @returns an id; one that nothing resumes from when too much was told */
export function writeCursor(scope: string, freezes: string, told: ToldStates, now: number): string {
  const states = told.toText(now);
  if (states === undefined) return "1.-";
  return `1.${scope}.${Math.max(0, now - SETTLED_MS).toString(36)}.${freezes}.${states}`;
}

/** @returns undefined when it is none, or that of another scope */
export function readCursor(text: string, scope: string): EventCursor | undefined {
  const [, ofScope, since = "", freezes = "", states = ""] = FORMAT.exec(text) ?? [];
  if (ofScope !== scope) return undefined;
  const pairs = states.match(/.{10}/g) ?? [];
  return {
    since: Number.parseInt(since, 36),
    freezes,
    told: new Map(
      pairs.map((pair) => [pair.slice(0, REQUEST_CHARS), pair.slice(REQUEST_CHARS)] as const),
    ),
  };
}
