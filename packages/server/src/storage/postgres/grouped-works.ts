/**
 * Works of many exchanges in few transactions. The cost of a small transaction is its begin, its
 * commit and the messages; works that do not block others share these, as on SQLite.
 *
 * A waiting work joins the next transaction, and a few transactions run at a time: under load more
 * works share one, and a single work does not wait.
 */

import type { Clock } from "../../clock.ts";

/** Works of one transaction: what the first of them waits for the last. */
export const GROUP_MAX = 16;

/** One is being answered while the next is made. */
const UNDER_WAY_MAX = 2;

/** A group that takes longer than this no longer delays others: its connection may be dead. */
const PATIENCE_MS = 50;

interface Subject {
  /** What it decides on. Never two of the same are under way. */
  readonly subject: string;
}

export class GroupedWorks<M extends Subject> {
  readonly #run: (group: readonly M[]) => Promise<void>;
  readonly #clock: Clock;
  readonly #busy = new Set<string>();
  #waiting: M[] = [];
  #underWay = 0;
  #isAwaited = false;

  /** @param run settles every member of the group, and never throws */
  constructor(run: (group: readonly M[]) => Promise<void>, clock: Clock) {
    this.#run = run;
    this.#clock = clock;
  }

  add(member: M): void {
    this.#waiting.push(member);
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    // After the poll phase: everything that arrived in one turn of the loop goes together.
    setImmediate(() => {
      this.#isAwaited = false;
      this.#begin();
    });
  }

  #begin(): void {
    while (this.#underWay < UNDER_WAY_MAX) {
      const group = this.#takeGroup();
      if (group.length === 0) return;
      this.#underWay++;
      let isCounted = true;
      const uncount = () => {
        if (isCounted) this.#underWay--;
        isCounted = false;
        this.#begin();
      };
      const cancel = this.#clock.after(PATIENCE_MS, uncount);
      this.#run(group).finally(() => {
        cancel();
        for (const { subject } of group) this.#busy.delete(subject);
        uncount();
      });
    }
  }

  /** The first of every subject that is not under way; the others go with a later group. */
  #takeGroup(): M[] {
    const group: M[] = [];
    const rest: M[] = [];
    for (const member of this.#waiting) {
      if (group.length < GROUP_MAX && !this.#busy.has(member.subject)) {
        this.#busy.add(member.subject);
        group.push(member);
      } else rest.push(member);
    }
    this.#waiting = rest;
    return group;
  }
}
