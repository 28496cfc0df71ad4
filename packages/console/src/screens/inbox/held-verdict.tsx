/** A scheduled verdict that the reviewer can still undo, on its row and in a bar. */

import type { DelayedVerdict } from "@countersign/review-api";
import { useComputed } from "@preact/signals";
import { api } from "../../api.ts";
import { pending } from "../../live/live.ts";
import { readAgain } from "../../live/pending-list.ts";
import type { PendingRequest } from "../../live/pending-request.ts";
import { Button } from "../../parts/button.tsx";
import { now } from "../../time.ts";
import { forEachOf } from "./send.ts";

const DOING = { approve: "Approving", deny: "Denying" } as const;

function secondsUntil(at: string): number {
  return Math.max(0, Math.ceil((Date.parse(at) - now.value) / 1_000));
}

export function Held({ held }: { readonly held: DelayedVerdict }) {
  const text = useComputed(() => {
    const left = secondsUntil(held.commits_at);
    return left > 0 ? `${DOING[held.verdict]} in ${left} s` : `${DOING[held.verdict]}…`;
  });
  return <span class="badge pending">{text}</span>;
}

/** Displayed while a verdict can be taken back, also after a reload. */
export function HeldBar() {
  const held = pending.value.filter((request) => request.held !== undefined);
  const last = held.at(-1)?.held;
  if (last === undefined) return null;
  return (
    <div class="action-bar" role="status">
      <p>
        <strong>
          {DOING[last.verdict]} {held.length === 1 ? "1 call" : `${held.length} calls`}
        </strong>
      </p>
      <Button kind="primary" onPress={() => takeBack(held)}>
        Undo
      </Button>
    </div>
  );
}

async function takeBack(held: readonly PendingRequest[]): Promise<void> {
  const failures = await forEachOf(held, async ({ id }) => {
    await api.call("DELETE /requests/{id}/held", { path: { id } });
    await readAgain(id);
  });
  if (failures.length > 0) throw failures[0]?.error;
}
