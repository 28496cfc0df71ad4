/**
 * What the outbox needs to know of one kind of destination.
 */

import type { Signal } from "../wake/wake.ts";

/** One turn of an item: the outbox claims what is due for it. */
export interface QueueTurn<Item> {
  readonly item: Item;
  /** Each releases a slot for one attempt. Empty where only an end is to be recorded. */
  readonly slots: (() => void)[];
}

/** The items that may have something due, and which of them is next. Only in memory. */
export interface OutboxQueue<Item> {
  readonly size: number;
  /** Takes turns while slots are free. */
  turns(now: number): Iterable<QueueTurn<Item>>;
  /** @param more whether the item may have more that is due */
  served(turn: QueueTurn<Item>, more: boolean): void;
  /** The turn failed, for a reason of this server. */
  failed(turn: QueueTurn<Item>, now: number): void;
}

/** What is claimed: no other process attempts it until the lease ends. */
export interface AttemptLease {
  /** `Clock.monotonic` when an attempt must be over, with a margin to the end of the lease. */
  readonly endsBy: number;
}

export interface Claimed<Claim> {
  readonly claimed: readonly Claim[];
  /** Whether the item may have more that is due. */
  readonly more: boolean;
}

export interface Recorded {
  readonly kind: string;
}

export interface Destination<Item, Claim extends AttemptLease, Outcome, Result extends Recorded> {
  /** The dependency that failures are reported for. */
  readonly name: string;
  readonly queue: OutboxQueue<Item>;
  /** From DNS to the response. With less time left in the lease, nothing is sent. */
  readonly attemptMs: number;
  /** An item is claimed again only after the result of its attempt is recorded. */
  readonly isSerial: boolean;
  /** Nothing was sent, for a reason of this server. */
  readonly postponed: Outcome;
  /** The attempt failed because of a defect of this server. */
  readonly defect: Outcome;

  /**
   * Queues due messages of all replicas.
   *
   * @returns epoch ms of the next scan; undefined: after a second
   */
  scan(state: { readonly isStopped: boolean }): Promise<number | undefined>;

  /** Queues what a signal makes due. @returns undefined for signals without effect */
  onSignal(signal: Signal, state: { readonly isStopped: boolean }): Promise<void> | undefined;

  /**
   * @param slots how many attempts may start
   * @throws Failure for example when a key is missing; nothing is claimed
   */
  claim(item: Item, slots: number): Promise<Claimed<Claim>>;

  /** One attempt. Every behaviour of the other side is an outcome; throws for defects only. */
  attempt(claim: Claim): Promise<Outcome>;

  /** Called when the attempt has ended, before its result is recorded. */
  attempted?(item: Item, outcome: Outcome): void;

  /** Records the outcome, unless the fence of the claim has passed. */
  record(claim: Claim, outcome: Outcome): Promise<Result>;

  /** Logs and counts the attempt, unless nothing was sent. */
  report(claim: Claim, outcome: Outcome, result: Result, durationMs: number): void;

  /** This process no longer works on the claim. */
  release?(claim: Claim): void;
}
