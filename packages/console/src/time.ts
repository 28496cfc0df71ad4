/**
 * The server's time. Deadlines use the server's clock, and the clock of a phone may be minutes off.
 * Times and buttons therefore depend on the latest server time.
 */

import { computed, signal } from "@preact/signals";

const TICK_MS = 250;

let offsetMs = performance.timeOrigin;
let readAt = Number.NEGATIVE_INFINITY;

/** The server's time, epoch ms. Steady: the device's clock may be set meanwhile. */
export function serverNow(): number {
  return performance.now() + offsetMs;
}

/**
 * @param at the server's time, epoch ms
 * @param askedAt time of the request, by `performance.now()`; answers may arrive out of order
 */
export function noteServerTime(at: number, askedAt: number): void {
  if (askedAt < readAt || Number.isNaN(at)) return;
  readAt = askedAt;
  offsetMs = at - performance.now();
  now.value = serverNow();
}

/** {@link serverNow}, four times a second while the page can be seen. */
export const now = signal(serverNow());

/** {@link now} once a second, for what shows no parts of a second. */
export const second = computed(() => Math.floor(now.value / 1_000) * 1_000);

function tick(): void {
  if (!document.hidden) now.value = serverNow();
}

setInterval(tick, TICK_MS);
document.addEventListener("visibilitychange", tick);
