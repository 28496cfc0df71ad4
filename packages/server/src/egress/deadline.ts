/**
 * The one time limit of a message, from the first question to a name server to the last byte that
 * is wanted. Node's own timeouts measure silence: who drips a byte a second passes them.
 */

import type { Clock } from "../clock.ts";
import type { UnreachableReason } from "./message.ts";

export class Deadline {
  readonly #controller = new AbortController();
  /** Called at the deadline. A listener on the signal would cost as much as a line of the log. */
  readonly #waiting = new Set<() => void>();
  readonly #clock: Clock;
  /** Epoch ms. */
  readonly #endsAt: number;
  /** The same moment, or an earlier one, by the monotonic clock. */
  readonly #endsBy: number;
  readonly #disarm: () => void;
  #reason: UnreachableReason = "timeout";

  /**
   * @param endsBy `Clock.monotonic` at which it ends even if less than `timeoutMs` has passed: a
   *   process that was stopped before it came here begins with the time that is really left
   */
  constructor(clock: Clock, timeoutMs: number, endsBy = Number.POSITIVE_INFINITY) {
    this.#clock = clock;
    this.#endsAt = clock.now() + timeoutMs;
    this.#endsBy = Math.min(clock.monotonic() + timeoutMs, endsBy);
    this.#disarm = clock.after(this.leftMs, () => this.#end());
  }

  /** Time that is left; 0 when it is over. */
  get leftMs(): number {
    const clock = this.#clock;
    return Math.max(0, Math.min(this.#endsAt - clock.now(), this.#endsBy - clock.monotonic()));
  }

  /** Whether time is over, or the message was cut before. */
  get isOver(): boolean {
    return this.#controller.signal.aborted;
  }

  /** Aborted when it is over. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** What became of the message, once it is over. */
  get reason(): UnreachableReason {
    return this.#reason;
  }

  /**
   * Looks at the clocks, to be called before anything is sent: in a process that was stopped, the
   * answer that was awaited comes before the timer that is late. Each of the two may have been
   * held back, by an operator or with the machine; the one that is ahead counts.
   */
  check(): void {
    if (this.leftMs === 0) this.#end();
  }

  /** Ends everything at once, because this process ends. */
  cut(): void {
    if (this.isOver) return;
    this.#reason = "reset";
    this.#end();
  }

  /**
   * Calls back, once, when it is over; not if it is over already.
   *
   * @returns ends that
   */
  onOver(callback: () => void): () => void {
    this.#waiting.add(callback);
    return () => this.#waiting.delete(callback);
  }

  /** The promise, or the signal's reason as soon as it is over; what comes later is dropped. */
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

  /** Nothing more is done for the message. */
  disarm(): void {
    this.#disarm();
  }
}

/** As {@link Deadline.until}, of any signal. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
