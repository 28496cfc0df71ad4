/**
 * The current request with the server's time: loaded when the stream reports a change, and
 * periodically while the page is visible, so that no decision depends on the stream alone.
 */

import type { ShownRequest } from "@countersign/review-api";
import { effect } from "@preact/signals";
import { api, type Refusal } from "../../api.ts";
import { connection } from "../../live/live.ts";
import { requests } from "../../live/pending-list.ts";
import { noteServerTime } from "../../time.ts";

const EVERY_MS = 2_000;
const EVERY_LIVE_MS = 5_000;
const TIMEOUT_MS = 8_000;

/** Of a slow exchange, so that no more than a fifth of the time is spent on it. */
const PAUSES = 4;

export interface Listener {
  /** Called with the answers in the order of their requests. */
  onAnswer(request: ShownRequest): Promise<void>;
  /** Until the next answer what is shown may be old. */
  onLost(error: Error | Refusal): void;
  /** Nothing is asked until the page is seen again. */
  onHidden(): void;
}

export interface Watch {
  /** Asks at once. */
  ask(): Promise<void>;
  stop(): void;
}

export function watchRequest(id: string, { onAnswer, onLost, onHidden }: Listener): Watch {
  const ended = new AbortController();
  const { signal } = ended;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let round = 0;

  async function ask(): Promise<void> {
    clearTimeout(timer);
    const mine = ++round;
    const askedAt = performance.now();
    try {
      const request = await api.call("GET /requests/{id}", {
        path: { id },
        timeoutMs: TIMEOUT_MS,
        signal,
        isBackground: true,
      });
      if (mine !== round) return;
      noteServerTime(Date.parse(request.now), askedAt);
      await onAnswer(request);
    } catch (error) {
      if (mine !== round || signal.aborted) return;
      onLost(error as Error);
    }
    if (mine !== round || document.hidden || signal.aborted) return;
    const everyMs = connection.value === "live" ? EVERY_LIVE_MS : EVERY_MS;
    const pauseMs = Math.max(everyMs, PAUSES * (performance.now() - askedAt));
    timer = setTimeout(() => void ask(), pauseMs);
  }

  function onVisibility(): void {
    if (document.hidden) {
      clearTimeout(timer);
      round++;
      onHidden();
    } else void ask();
  }
  const again = () => void ask();
  document.addEventListener("visibilitychange", onVisibility, { signal });
  addEventListener("offline", again, { signal });
  addEventListener("online", again, { signal });
  // A page restored by the back button shows an old state.
  addEventListener("pageshow", ({ persisted }) => persisted && again(), { signal });
  void ask();
  let seenState = [requests.peek().get(id), connection.peek() === "lost"];
  const stopWatching = effect(() => {
    const now = [requests.value.get(id), connection.value === "lost"];
    const isNews = now.some((one, index) => one !== seenState[index]);
    seenState = now;
    // The query reads other signals; changes of these must not trigger it.
    if (isNews) queueMicrotask(again);
  });
  return {
    ask,
    stop() {
      stopWatching();
      clearTimeout(timer);
      round++;
      ended.abort();
    },
  };
}
