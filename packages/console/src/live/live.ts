/**
 * The state of the server in this tab: pending requests, active freezes, and whether what is shown
 * is current. Where it is not, nothing can be decided.
 */

import type { Freeze } from "@countersign/review-api";
import { computed, effect, signal } from "@preact/signals";
import { api, onSignedOut, Refusal } from "../api.ts";
import { loadSession } from "../session.ts";
import { joinFeed } from "./connect.ts";
import { type FeedEvent, type FeedMessage, feedName } from "./feed.ts";
import {
  dropOverdue,
  dropRequest,
  forgetRequests,
  inOrder,
  listAgain,
  readAgain,
} from "./pending-list.ts";
import { isMine, type PendingRequest } from "./pending-request.ts";

export type Connection = "connecting" | "live" | "polling" | "lost";

export const connection = signal<Connection>("connecting");

/** False while what is shown may be old: then nothing can be decided. */
export const isLive = computed(() => connection.value === "live" || connection.value === "polling");

/** The active ones, the latest first. */
export const freezes = signal<readonly Freeze[]>([]);

/** Pending requests, the earliest deadline first, as far as they have been listed. */
export const pending = computed(inOrder);

export const mine = computed<readonly PendingRequest[]>(() => pending.value.filter(isMine));

const RETRY_MS = 2_000;
/** A stream that a proxy cuts is open again before that. */
const GRACE_MS = 1_500;
const FREEZES_EVERY_MS = 5_000;
/** A slower list is old when it arrives; with the pause between two polls, that is 5 s. */
const LIST_MS_MAX = 2_800;
/** More requests than that are fetched by listing them again. */
const SINGLE_READS_MAX = 8;
/** Hints that arrive meanwhile are fetched together. */
const PAUSE_MS = { reads: 200, list: 500 };

/**
 * Connects the tab to the stream of a project.
 *
 * @returns disconnects
 */
export function startLive(sessionId: string, projectId: string): () => void {
  const tab = new LiveTab();
  const leaveFeed = { current: () => {} };
  const join = () => {
    leaveFeed.current = joinFeed(feedName(sessionId, projectId), (message) => tab.receive(message));
  };
  join();
  const stopDropping = effect(dropOverdue);
  const onHide = () => {
    tab.lose();
    leaveFeed.current();
  };
  // A page in the back-forward cache receives nothing.
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

/** Fetches in one tab what the hints of the stream name. */
class LiveTab {
  #isClosed = false;
  #hasListed = false;
  #mode: "live" | "polling" = "live";
  /** Undefined: everything is to be listed. */
  #changed: Set<string> | undefined = new Set();
  #fetching: Promise<void> | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #grace: ReturnType<typeof setTimeout> | undefined;
  /** Aborted when the connection is lost, and replaced when it is back. */
  #connected = new AbortController();
  #freezesReadAt = Number.NEGATIVE_INFINITY;

  close(): void {
    this.#isClosed = true;
    this.#connected.abort();
    clearTimeout(this.#retry);
    clearTimeout(this.#grace);
  }

  lose(): void {
    this.#miss();
    this.#become("lost");
  }

  #miss(): void {
    this.#connected.abort();
    clearTimeout(this.#retry);
    this.#grace ??= setTimeout(() => this.#become("lost"), GRACE_MS);
  }

  #become(state: Connection): void {
    clearTimeout(this.#grace);
    this.#grace = undefined;
    connection.value = state;
  }

  receive(message: FeedMessage): void {
    if (this.#isClosed) return;
    switch (message.kind) {
      case "open":
        this.#connected.abort();
        this.#connected = new AbortController();
        this.#mode = "live";
        this.#fetch(undefined);
        break;
      case "event":
        this.#take(message.event);
        break;
      case "poll":
        // A hidden tab does not poll, and is not current when it is shown again.
        if (document.hidden) this.#become("lost");
        else if (this.#fetching === undefined) {
          if (this.#connected.signal.aborted) this.#connected = new AbortController();
          this.#mode = "polling";
          this.#fetch(undefined);
        }
        break;
      case "lost":
        this.#miss();
        break;
      case "signed-out":
        onSignedOut();
    }
  }

  #take(event: FeedEvent): void {
    switch (event.name) {
      case "request":
        this.#fetch(event.id);
        break;
      case "freezes":
        this.#readFreezes().catch(() => this.#fetch(undefined));
        break;
      case "caller":
        this.#fetch(undefined);
        loadSession().catch(console.error);
    }
  }

  /** @param id the request that changed; undefined: any of them may have */
  #fetch(id: string | undefined): void {
    if (id === undefined) this.#changed = undefined;
    else this.#changed?.add(id);
    clearTimeout(this.#retry);
    this.#fetching ??= this.#fetchChanged().finally(() => {
      this.#fetching = undefined;
    });
  }

  /** One fetch at a time, so that an older answer never replaces a later one. */
  async #fetchChanged(): Promise<void> {
    while (this.#changed?.size !== 0) {
      const { signal } = this.#connected;
      // The next connection lists everything.
      if (signal.aborted) return;
      const ids = this.#changed;
      this.#changed = new Set();
      const isList = ids === undefined || ids.size > SINGLE_READS_MAX;
      if (!isList) await Promise.all([...ids].map((id) => this.#read(id, signal)));
      else if (!(await this.#list(signal))) return;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS[isList ? "list" : "reads"]));
    }
  }

  async #read(id: string, signal: AbortSignal): Promise<void> {
    try {
      await readAgain(id, { isBackground: true, signal });
    } catch (error) {
      if (error instanceof Refusal && error.status === 404) dropRequest(id);
      else this.#changed = undefined;
    }
  }

  /** @returns false when it failed although the connection is not lost; a later try is scheduled */
  async #list(signal: AbortSignal): Promise<boolean> {
    const slow = setTimeout(() => {
      if (connection.value === "polling") this.#become("lost");
    }, LIST_MS_MAX);
    try {
      if (this.#mode === "live" || performance.now() - this.#freezesReadAt > FREEZES_EVERY_MS)
        await this.#readFreezes();
      await listAgain({ isBackground: this.#hasListed, signal });
      if (signal.aborted) return true;
      this.#hasListed = true;
      this.#become(this.#mode);
      return true;
    } catch (error) {
      this.#changed = undefined;
      if (signal.aborted) return true;
      if (!(error instanceof Refusal)) console.error(error);
      // The user was removed from the project.
      if (error instanceof Refusal && error.status === 404) loadSession().catch(console.error);
      this.#become("lost");
      if (this.#mode === "live") this.#retry = setTimeout(() => this.#fetch(undefined), RETRY_MS);
      return false;
    } finally {
      clearTimeout(slow);
    }
  }

  async #readFreezes(): Promise<void> {
    this.#freezesReadAt = performance.now();
    const { signal } = this.#connected;
    const answer = await api.call("GET /freezes", {
      query: { state: "in_force", limit: "50" },
      isBackground: true,
      signal,
    });
    if (!signal.aborted) freezes.value = answer.freezes;
  }
}
