/** A scheduled verdict that the reviewer can still undo, on its row. */

import type { DelayedVerdict } from "@countersign/review-api";
import { useComputed } from "@preact/signals";
import { describeHeld } from "../../requests/words.ts";
import { now } from "../../time.ts";

export function Held({ held }: { readonly held: DelayedVerdict }) {
  const text = useComputed(() => describeHeld(held, now.value));
  return <span class="badge pending">{text}</span>;
}
