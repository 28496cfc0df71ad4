/** How long is left, by the server's clock. */

import { useComputed } from "@preact/signals";
import { timeLeft } from "../requests/words.ts";
import { now } from "../time.ts";

const SOON_MS = 60_000;

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
