/** How long is left, by the server's clock. */

import { useComputed } from "@preact/signals";
import { now } from "../time.ts";

const SOON_MS = 60_000;

/** @param ms until it is over */
export function timeLeft(ms: number): string {
  if (ms <= 0) return "Time is up";
  const s = Math.ceil(ms / 1000);
  if (s < 60) return `${s} s left`;
  const min = Math.floor(s / 60);
  if (min < 60) return `${min} min ${String(s % 60).padStart(2, "0")} s left`;
  const h = Math.floor(min / 60);
  if (h < 48) return `${h} h ${String(min % 60).padStart(2, "0")} min left`;
  return `${Math.floor(h / 24)} days left`;
}

/** Counts down by itself. */
export function TimeLeft({ until }: { /** Epoch ms. */ readonly until: number }) {
  const text = useComputed(() => timeLeft(until - now.value));
  const isSoon = useComputed(() => until - now.value <= SOON_MS);
  return (
    <span class={isSoon.value ? "time-left soon" : "time-left"}>
      <span>{text}</span>
    </span>
  );
}
