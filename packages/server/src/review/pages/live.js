/**
 * What a page shows of the server as it is now: asked again and again while somebody can see it,
 * and the server's time, whatever the clock of the device says.
 */

import { readSource } from "./page.js";

const EVERY_MS = 2_000;
const TIMEOUT_MS = 8_000;

/** Of a slow exchange, so that no more than a fifth of the time is spent on it. */
const PAUSES = 4;

let offsetMs = 0;

/** The server's time, epoch ms: what it said last and how long ago that was. */
export function serverNow() {
  return performance.now() + offsetMs;
}

/**
 * Reads `path` now and then about every two seconds while the page is visible.
 *
 * @param {(source: string) => void} onAnswer
 * @param {(error: Error) => void} onLost until the next answer
 * @param {() => void} onHidden nothing is asked until the page is seen again
 * @returns {() => Promise<void>} asks at once
 */
export function watch(path, { onAnswer, onLost, onHidden }) {
  let timer;
  let round = 0;

  /** @param isBackground true when nobody did anything for it: it keeps no session from ending */
  async function ask(isBackground) {
    clearTimeout(timer);
    const mine = ++round;
    const beganAt = performance.now();
    try {
      const source = await readSource(path, TIMEOUT_MS, isBackground === true);
      if (mine !== round) return;
      const at = Date.parse(JSON.parse(source).now);
      offsetMs = at - performance.now();
      await onAnswer(source);
    } catch (error) {
      if (mine !== round) return;
      onLost(error);
    }
    if (mine !== round || document.hidden) return;
    const pause = Math.max(EVERY_MS, PAUSES * (performance.now() - beganAt));
    timer = setTimeout(() => ask(true), pause);
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      clearTimeout(timer);
      round++;
      onHidden();
    } else {
      ask();
    }
  });
  addEventListener("offline", ask);
  addEventListener("online", ask);
  // A page that was kept for the back button tells what was then.
  addEventListener("pageshow", ({ persisted }) => persisted && ask());
  return ask;
}
