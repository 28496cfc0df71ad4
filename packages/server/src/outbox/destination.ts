/** The interface between the outbox and one kind of destination. */

import type { Signal } from "../wake/wake.ts";

/** One turn of an item: the outbox claims what is due for it. */
export interface QueueTurn<Item> {
  readonly item: Item;
  /** Each releases a slot for one attempt. Empty when only ends are to be recorded. */
  readonly slots: (() => void)[];
}

/** The items that may have due messages, in serving order. Kept in memory. */
export interface OutboxQueue<Item> {
  readonly size: number;
  /** Takes turns while slots are free. */
  turns(now: number): Iterable<QueueTurn<Item>>;
  /** @param more whether the item may have more that is due */
  served(turn: QueueTurn<Item>, more: boolean): void;
  /** The turn failed because of this server. */
  failed(turn: QueueTurn<Item>, now: number): void;
}

/** A claim: no other process attempts it until the lease ends. */
export interface AttemptLease {
  /** `Clock.monotonic` by which an attempt must end, with a margin to the end of the lease. */
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
  /** Dependency name in failure reports. */
  readonly name: string;
  readonly queue: OutboxQueue<Item>;
  /** From DNS to the response. With less time left in the lease, nothing is sent. */
  readonly attemptMs: number;
  /** An item is claimed again only after the result of its attempt is recorded. */
  readonly isSerial: boolean;
  /** The outcome when nothing was sent because of this server. */
  readonly postponed: Outcome;
  /** The attempt failed because of a defect of this server. */
  readonly defect: Outcome;

  /**
   * Queues due messages of all replicas.
   *
   * @returns epoch ms of the next scan; undefined: after a second
   */
  scan(state: { readonly isStopped: boolean }): Promise<number | undefined>;

  /** Queues items that a signal makes due. @returns undefined for signals without effect */
  onSignal(signal: Signal, state: { readonly isStopped: boolean }): Promise<void> | undefined;

  /**
   * @param slots maximum attempts
   * @throws Failure, for example when a key is missing; then nothing is claimed
   */
  claim(item: Item, slots: number): Promise<Claimed<Claim>>;

  /** Makes one attempt. Every behaviour of the receiver is an outcome; throws for defects only. */
  attempt(claim: Claim): Promise<Outcome>;

  /** Called after the attempt, before its result is recorded. */
  attempted?(item: Item, outcome: Outcome): void;

  /** Records the outcome, unless the fence of the claim has passed. */
  record(claim: Claim, outcome: Outcome): Promise<Result>;

  /** Logs and counts the attempt, unless nothing was sent. */
  report(claim: Claim, outcome: Outcome, result: Result, durationMs: number): void;

  /** Called when this process no longer works on the claim. */
  release?(claim: Claim): void;
}
