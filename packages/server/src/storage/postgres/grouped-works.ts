/**
 * Groups the works of many exchanges into few transactions. A small transaction mostly costs its
 * BEGIN, its COMMIT and their messages. Works that do not block others share these, as on SQLite.
 *
 * A waiting work joins the next transaction, and a few transactions run at a time. Under load more
 * works share one, and a single work does not wait.
 */

import type { Clock } from "../../clock.ts";

/** Works of one transaction. The first one waits for the last one. */
export const GROUP_MAX = 16;

/** One transaction is prepared while the other is executed. */
const UNDER_WAY_MAX = 2;

/** A group that takes longer no longer delays others: its connection may be dead. */
const PATIENCE_MS = 50;

interface Subject {
  /** The object of its decision. Two works with the same subject never run concurrently. */
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
    // After the poll phase, so that everything from one event loop iteration is sent together.
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

  /** The first work of every idle subject. The others join a later group. */
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
