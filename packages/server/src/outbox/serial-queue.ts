/**
 * A queue of items that are served one message at a time, within a limit for each group and one for
 * all.
 */

import { KeyedSemaphore, type SemaphoreLimits } from "../keyed-semaphore.ts";
import type { OutboxQueue, QueueTurn } from "./destination.ts";

interface Member<Item> {
  readonly item: Item;
  isServed: boolean;
  /** True when it was added again during its turn. */
  isExpected: boolean;
}

export interface SerialItem {
  readonly id: string;
  readonly group: string;
}

export class SerialQueue<Item extends SerialItem> implements OutboxQueue<Item> {
  readonly #slots: KeyedSemaphore;
  /** By id, in serving order. */
  readonly #members = new Map<string, Member<Item>>();

  /** @param limits of turns: for each group, and for all groups together */
  constructor(limits: SemaphoreLimits) {
    this.#slots = new KeyedSemaphore(limits);
  }

  get size(): number {
    return this.#members.size;
  }

  add(item: Item): void {
    const known = this.#members.get(item.id);
    if (known === undefined) {
      this.#members.set(item.id, { item, isServed: false, isExpected: true });
    } else {
      known.isExpected = true;
    }
  }

  *turns(): Generator<QueueTurn<Item>> {
    for (const [id, member] of this.#members) {
      if (this.#slots.isFull) return;
      const release = member.isServed ? undefined : this.#slots.tryAcquire(member.item.group);
      if (release === undefined) continue;
      member.isServed = true;
      member.isExpected = false;
      // Moved to the end of the queue, where this loop skips it.
      this.#members.delete(id);
      this.#members.set(id, member);
      yield { item: member.item, slots: [release] };
    }
  }

  served({ item: { id } }: QueueTurn<Item>, more: boolean): void {
    const member = this.#members.get(id);
    if (member === undefined) return;
    member.isServed = false;
    if (!more && !member.isExpected) this.#members.delete(id);
  }

  /** The next scan finds it again. */
  failed({ item: { id } }: QueueTurn<Item>): void {
    this.#members.delete(id);
  }
}
