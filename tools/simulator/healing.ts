/**
 * When a run is over, and how far it is until something falls due.
 */

import type { Facts } from "./facts.ts";

/** How long before something falls due the leap ends. */
const MARGIN_MS = 200;

/** Nothing to be done for so long is worth a leap. */
const LEAP_MS_MIN = 300;

/** When everything that is to come falls due, by the database's clock. */
function dueTimes({ snapshot, database }: Facts): number[] {
  return [
    ...snapshot.all("request").flatMap(({ status, deadline_at: at }) => {
      return status === "pending" ? [Number(at)] : [];
    }),
    ...snapshot.all("notification").flatMap(({ next_at: at, claimed_until: until }) => {
      return at === null ? [] : [Math.max(Number(at), Number(until ?? 0))];
    }),
    ...database.look("select commits_at from delayed_verdict").map((row) => Number(row.commits_at)),
  ];
}

/** When something falls due next; @param skip leaves out the first ones */
export function nextEvent(facts: Facts, skip: number): number | undefined {
  const coming = dueTimes(facts).filter((at) => at > facts.world.now);
  return coming.sort((a, b) => a - b)[Math.min(skip, coming.length - 1)];
}

/** Whether everything has ended; else how long it is safe to leap, ms. */
export function healed(facts: Facts): { readonly isOver: boolean; readonly leapMs: number } {
  const { world, attempts, database } = facts;
  const isSending = [...attempts.values()].flat().some(({ isOver }) => !isOver);
  if (isSending) return { isOver: false, leapMs: 0 };
  const times = dueTimes(facts);
  if (times.length === 0) return { isOver: isFree(facts), leapMs: 0 };
  const ms = Math.min(...times) - world.now - MARGIN_MS;
  // Due timers run first, and open work finishes.
  const mayLeap = ms >= LEAP_MS_MIN && database.isIdle;
  return { isOver: false, leapMs: mayLeap ? ms : 0 };
}

function isFree({ replicas }: Facts): boolean {
  return replicas.every(({ context }) => {
    return context.delivery.limits.size === 0 && context.wake.waiting === 0;
  });
}
