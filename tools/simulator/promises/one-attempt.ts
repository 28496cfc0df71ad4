/** Checks that at most one attempt of an event is outstanding. */

import type { Promised } from "../facts.ts";

/** How long an attempt may take, ms: then it is over, whatever a stopped process holds open. */
const ATTEMPT_MS_MAX = 10_000;

export const ONE_ATTEMPT: Promised = {
  id: "I4",
  says: "At most one attempt of an event is outstanding, over all replicas.",

  onArrival({ world, attempts, wasClockSet }, { id, replica }) {
    // Documented: it ends leases early.
    if (wasClockSet) return;
    const outstanding = attempts.get(id)?.find(({ isOver, startedAt }) => {
      return !isOver && world.elapsedMs - startedAt < ATTEMPT_MS_MAX;
    });
    world.assert(outstanding === undefined, "I4", () => {
      return `${replica.name} sends ${id} while ${outstanding?.arrival.replica.name} does`;
    });
  },

  onCommit({ world, wasClockSet }, { changes, lastAt }) {
    if (wasClockSet) return;
    for (const { table, key, before, after } of changes) {
      if (table !== "notification" || before === undefined || after === undefined) continue;
      if (Number(after.fence) === Number(before.fence)) continue;
      const isFree = before.claimed_until === null || Number(before.claimed_until) <= lastAt;
      world.assert(isFree, "I4", () => `${key} was claimed twice`);
    }
  },
};
