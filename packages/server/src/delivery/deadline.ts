/**
 * The one time limit of a message, from the first question to a name server to the last byte that
 * is wanted. Node's own timeouts measure silence: who drips a byte a second passes them.
 */

import type { Clock } from "../clock.ts";
import type { UnreachableReason } from "./message.ts";

export class Deadline {
  readonly #controller = new AbortController();
  readonly #clock: Clock;
  /** Epoch ms. */
  readonly #endsAt: number;
  /** The same moment, or one before it, by the clock that nobody sets. */
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
    this.#disarm = clock.after(this.leftMs, () => this.#controller.abort());
  }

  /** Time that is left; 0 when it is over. */
  get leftMs(): number {
    const clock = this.#clock;
    return Math.max(0, Math.min(this.#endsAt - clock.now(), this.#endsBy - clock.monotonic()));
  }

  /** Aborted when time is over, or when the message is cut before. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** What became of the message, once the signal is aborted. */
  get reason(): UnreachableReason {
    return this.#reason;
  }

  /**
   * Looks at the clocks, to be called before anything is sent: in a process that was stopped, the
   * answer that was awaited comes before the timer that is late. Each of the two may have been
   * held back, by an operator or with the machine; the one that is ahead counts.
   */
  check(): void {
    if (this.leftMs === 0) this.#controller.abort();
  }

  /** Ends everything at once, because this process ends. */
  cut(): void {
    if (this.signal.aborted) return;
    this.#reason = "reset";
    this.#controller.abort();
  }

  /** The message is over. */
  disarm(): void {
    this.#disarm();
  }
}

/** The promise, or the signal's reason as soon as it is aborted; what comes later is dropped. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
