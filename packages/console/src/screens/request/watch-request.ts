/**
 * A request as it is now, and the server's time with it: asked again and again while somebody can
 * see the page.
 *
 * Called by: use-request.ts alone, so that something else can tell it.
 */

import { callSource, type Refusal } from "../../api.ts";
import { noteServerTime } from "../../time.ts";

const EVERY_MS = 2_000;
const TIMEOUT_MS = 8_000;

/** Of a slow exchange, so that no more than a fifth of the time is spent on it. */
const PAUSES = 4;

export interface Listener {
  /** In the order in which it was asked; `source` is as the server wrote it. */
  onAnswer(source: string): Promise<void>;
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
    const path = `requests/${encodeURIComponent(id)}`;
    try {
      const source = await callSource("GET", path, {
        ...{ timeoutMs: TIMEOUT_MS, signal, isBackground: true },
      });
      if (mine !== round) return;
      noteServerTime(Date.parse((JSON.parse(source) as { now: string }).now), askedAt);
      await onAnswer(source);
    } catch (error) {
      if (mine !== round || signal.aborted) return;
      onLost(error as Error);
    }
    if (mine !== round || document.hidden || signal.aborted) return;
    const pauseMs = Math.max(EVERY_MS, PAUSES * (performance.now() - askedAt));
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
  // A page that was kept for the back button tells what was then.
  addEventListener("pageshow", ({ persisted }) => persisted && again(), { signal });
  void ask();
  return {
    ask,
    stop() {
      clearTimeout(timer);
      round++;
      ended.abort();
    },
  };
}
