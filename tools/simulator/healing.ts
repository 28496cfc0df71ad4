/**
 * When a run is over, and how far it is until something falls due.
 *
 * Called by: run-seed.ts.
 */

import type { Facts } from "./facts.ts";

/** How long before something falls due the leap ends. */
const MARGIN_MS = 200;

/** Nothing to be done for so long is worth a leap. */
const LEAP_MS_MIN = 2_000;

/** When something falls due next, by the database's clock; @param skip leaves out the first ones */
export function nextEvent({ world, snapshot, database }: Facts, skip = 0): number | undefined {
  const times = [
    ...snapshot.all("request").flatMap(({ status, deadline_at: at }) => {
      return status === "pending" ? [Number(at)] : [];
    }),
    ...snapshot.all("notification").flatMap(({ next_at: at, claimed_until: until }) => {
      return at === null ? [] : [Math.max(Number(at), Number(until ?? 0))];
    }),
    ...database.look("select commits_at from held_verdict").map((row) => Number(row.commits_at)),
  ];
  const coming = times.filter((at) => at > world.now).sort((a, b) => a - b);
  return coming[Math.min(skip, coming.length - 1)];
}

/** Whether everything has ended; else how long it is safe to leap, ms. */
export function healed(facts: Facts): { readonly isOver: boolean; readonly leapMs: number } {
  const { world, snapshot, database, attempts } = facts;
  const pending = snapshot.all("request").some(({ status }) => status === "pending");
  const waiting = snapshot.all("notification").some(({ ended_at: at }) => at === null);
  const held = database.look("select 1 from held_verdict limit 1").length > 0;
  const isSending = [...attempts.values()].flat().some(({ isOver }) => !isOver);
  if (isSending) return { isOver: false, leapMs: 0 };
  if (!pending && !waiting && !held) return { isOver: isFree(facts), leapMs: 0 };
  const next = nextEvent(facts);
  const leapMs = next === undefined ? 0 : next - world.now - MARGIN_MS;
  return { isOver: false, leapMs: leapMs < LEAP_MS_MIN ? 0 : leapMs };
}

function isFree({ replicas }: Facts): boolean {
  return replicas.every(({ context }) => {
    return context.delivery.limits.size === 0 && context.wake.waiting === 0;
  });
}
