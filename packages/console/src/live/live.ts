/**
 * The server as it is now, for all screens: what is pending, which freezes hold, and whether what
 * is shown can be relied on. Where it cannot, nothing may be decided.
 *
 * Called by: the frame, which starts it; screens read its signals.
 */

import type { Freeze } from "@countersign/review-api";
import { computed, effect, signal } from "@preact/signals";
import { call, Refusal } from "../api.ts";
import { memberSource } from "../exact/source.ts";
import { signInUrl } from "../root.ts";
import { loadSession } from "../session.ts";
import { noteServerTime } from "../time.ts";
import { joinFeed } from "./connect.ts";
import type { FeedMessage } from "./feed.ts";
import { type HeardMessage, isFresh } from "./heard.ts";
import {
  dropOverdue,
  forgetRequests,
  inOrder,
  listAnew,
  listing,
  readAgain,
  requests,
  takeRequest,
} from "./pending-list.ts";
import { isMine, type PendingRequest } from "./pending-request.ts";

export type Connection = "connecting" | "live" | "asking" | "lost";

export const connection = signal<Connection>("connecting");

/** False while what is shown may be old: then nothing is decided. */
export const isLive = computed(() => connection.value === "live" || connection.value === "asking");

/** Those in force, the newest first. */
export const freezes = signal<readonly Freeze[]>([]);

/** What is pending, the earliest deadline first, as far as it has been listed. */
export const pending = computed(inOrder);

export const mine = computed<readonly PendingRequest[]>(() => pending.value.filter(isMine));

const RETRY_MS = 2_000;
/** A stream that a proxy has cut is there again before that. */
const GRACE_MS = 1_500;
const FREEZES_EVERY_MS = 5_000;
/** An answer that takes longer says nothing of now; with the pause between two, that is 5 s. */
const ASKED_MS_MAX = 2_800;
/** Messages that say another number than is listed, before the list is read anew. */
const MISCOUNTS_MAX = 2;

interface EventData {
  readonly id?: string;
  readonly request?: unknown;
  readonly now?: string;
  readonly pending?: number;
  readonly freezes?: readonly Freeze[];
  readonly reason?: string;
}

/**
 * Begins to listen for a project, and ends what was begun for another.
 *
 * @returns ends
 */
export function startLive(sessionId: string, projectId: string): () => void {
  const tab = new Listening();
  const leaveFeed = { current: () => {} };
  const join = () => {
    leaveFeed.current = joinFeed(`${sessionId}/${projectId}`, (heard) => tab.hear(heard));
  };
  join();
  const stopDropping = effect(dropOverdue);
  const onHide = () => {
    tab.lose();
    leaveFeed.current();
  };
  // A page that is kept for the back button hears nothing.
  const onShow = ({ persisted }: PageTransitionEvent) => {
    if (persisted) join();
  };
  addEventListener("pagehide", onHide);
  addEventListener("pageshow", onShow);
  return () => {
    tab.close();
    leaveFeed.current();
    stopDropping();
    removeEventListener("pagehide", onHide);
    removeEventListener("pageshow", onShow);
    connection.value = "connecting";
    forgetRequests();
    freezes.value = [];
  };
}

/** What one tab makes of what it hears. */
class Listening {
  #isClosed = false;
  #hasListed = false;
  #isListing = false;
  #miscounts = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #grace: ReturnType<typeof setTimeout> | undefined;
  /** How often the connection was lost: what began before is not relied on after. */
  #losses = 0;
  #freezesAskedAt = Number.NEGATIVE_INFINITY;

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#grace);
  }

  /** Before anything is relied on again, it is listed anew. */
  lose(): void {
    this.#hasListed = false;
    this.#miss();
    this.#be("lost");
  }

  #miss(): void {
    this.#losses++;
    clearTimeout(this.#retry);
    this.#grace ??= setTimeout(() => this.#be("lost"), GRACE_MS);
  }

  #be(state: Connection): void {
    clearTimeout(this.#grace);
    this.#grace = undefined;
    connection.value = state;
  }

  hear(heard: HeardMessage): void {
    if (this.#isClosed) return;
    const { message } = heard;
    switch (message.kind) {
      case "open":
        if (message.resumed && this.#hasListed) this.#be("live");
        else void this.#list("live");
        break;
      case "event":
        this.#take(message, isFresh(heard));
        break;
      case "ask":
        // What nobody sees is not asked for, and is old when it is seen again.
        if (document.hidden) this.#be("lost");
        else if (!this.#isListing) void this.#list("asking");
        break;
      case "lost":
        this.#miss();
        break;
      case "signed-out":
        location.assign(signInUrl());
        break;
    }
  }

  #take({ name, data }: FeedMessage & { kind: "event" }, tellsTime: boolean): void {
    const event = JSON.parse(data) as EventData;
    if (event.now !== undefined && tellsTime)
      noteServerTime(Date.parse(event.now), performance.now());
    if (event.freezes !== undefined) freezes.value = event.freezes;
    if (name.startsWith("request.") && event.id !== undefined) {
      if (event.request === null) void this.#readAgain(event.id);
      else takeRequest(requestSource(data));
    }
    // Another tab looks at another project now, and so does this one.
    if (name === "end" && event.reason === "project") loadSession().catch(console.error);
    if (name === "reset") {
      if (event.reason === "caller") loadSession().catch(console.error);
      void this.#list("live");
    }
    if (name === "heartbeat" && event.pending !== undefined) this.#count(event.pending);
  }

  /** Whether as many are listed as there are; a difference for a moment is no fault. */
  #count(there: number): void {
    const { next, damaged } = listing.value;
    const isRight = next !== null || [0, damaged].includes(there - requests.value.size);
    this.#miscounts = isRight ? 0 : this.#miscounts + 1;
    if (this.#miscounts >= MISCOUNTS_MAX) void this.#list("live");
  }

  async #readAgain(id: string): Promise<void> {
    try {
      await readAgain(id);
    } catch (error) {
      if (!(error instanceof Refusal) || error.status === 0) void this.#list("live");
    }
  }

  async #list(then: "live" | "asking"): Promise<void> {
    clearTimeout(this.#retry);
    this.#isListing = true;
    this.#miscounts = 0;
    const losses = this.#losses;
    const slow = setTimeout(() => {
      if (connection.value === "asking") this.#be("lost");
    }, ASKED_MS_MAX);
    try {
      if (then === "asking") await this.#askFreezes();
      if (!(await listAnew(this.#hasListed)) || this.#isClosed) return;
      this.#hasListed = losses === this.#losses;
      if (this.#hasListed) this.#be(then);
    } catch (error) {
      if (this.#isClosed || losses !== this.#losses) return;
      if (!(error instanceof Refusal)) console.error(error);
      this.#be("lost");
      if (then === "live") this.#retry = setTimeout(() => void this.#list(then), RETRY_MS);
    } finally {
      clearTimeout(slow);
      this.#isListing = false;
    }
  }

  /** The stream tells them; who asks does not have to ask as often. */
  async #askFreezes(): Promise<void> {
    if (performance.now() - this.#freezesAskedAt < FREEZES_EVERY_MS) return;
    this.#freezesAskedAt = performance.now();
    const path = "freezes?state=in_force&limit=50";
    const options = { isBackground: true };
    const answer = await call<{ readonly freezes: readonly Freeze[] }>("GET", path, options);
    freezes.value = answer.freezes;
  }
}

/** The exact text of the request in an event. */
function requestSource(data: string): string {
  return memberSource(data, "request") ?? "{}";
}
