/**
 * The time limit of a message, from DNS to the last byte of the answer. Node's own timeouts measure
 * inactivity, so a receiver that sends one byte per second would pass them.
 */

import type { Clock } from "../clock.ts";
import type { UnreachableReason } from "./message.ts";

export class Deadline {
  readonly #controller = new AbortController();
  /** Called at the deadline. Cheaper than listeners on the signal. */
  readonly #waiting = new Set<() => void>();
  readonly #clock: Clock;
  /** Epoch ms. */
  readonly #endsAt: number;
  /** The same moment, or an earlier one, by the monotonic clock. */
  readonly #endsBy: number;
  readonly #disarm: () => void;
  #reason: UnreachableReason = "timeout";

  /**
   * @param endsBy `Clock.monotonic` at which it ends even if less than `timeoutMs` has passed;
   * accounts for time during which this process was stopped
   */
  constructor(clock: Clock, timeoutMs: number, endsBy = Number.POSITIVE_INFINITY) {
    this.#clock = clock;
    this.#endsAt = clock.now() + timeoutMs;
    this.#endsBy = Math.min(clock.monotonic() + timeoutMs, endsBy);
    this.#disarm = clock.after(this.leftMs, () => this.#end());
  }

  /** Remaining time in ms; 0 after the deadline. */
  get leftMs(): number {
    const clock = this.#clock;
    return Math.max(0, Math.min(this.#endsAt - clock.now(), this.#endsBy - clock.monotonic()));
  }

  /** True after the deadline or `cut`. */
  get isOver(): boolean {
    return this.#controller.signal.aborted;
  }

  /** Aborted at the deadline. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why the message failed, after the deadline or `cut`. */
  get reason(): UnreachableReason {
    return this.#reason;
  }

  /**
   * Compares both clocks. Call it before anything is sent: after a suspended process resumes, an
   * answer may be processed before the late timer. An operator or a suspend may have held back
   * either clock, so the later time counts.
   */
  check(): void {
    if (this.leftMs === 0) this.#end();
  }

  /** Ends it at once, because this process stops. */
  cut(): void {
    if (this.isOver) return;
    this.#reason = "reset";
    this.#end();
  }

  /**
   * Calls back once at the deadline; never if it has passed.
   *
   * @returns cancels the call
   */
  onOver(callback: () => void): () => void {
    this.#waiting.add(callback);
    return () => this.#waiting.delete(callback);
  }

  /**
   * Resolves as the promise, or rejects with the signal's reason at the deadline. Later results are
   * discarded.
   */
  until<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const giveUp = () => reject(this.signal.reason);
      if (this.isOver) giveUp();
      const leave = this.onOver(giveUp);
      promise.then(resolve, reject).finally(leave);
    });
  }

  #end(): void {
    this.#controller.abort();
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const callback of waiting) callback();
  }

  /** Stops the timer, because the message is complete. */
  disarm(): void {
    this.#disarm();
  }
}

/** As {@link Deadline.until}, for any signal. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
