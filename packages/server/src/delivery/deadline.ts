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
  readonly #disarm: () => void;
  #reason: UnreachableReason = "timeout";

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.#endsAt = clock.now() + timeoutMs;
    this.#disarm = clock.after(timeoutMs, () => this.#controller.abort());
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
   * Looks at the clock, to be called before anything is sent: in a process that was stopped, the
   * answer that was awaited comes before the timer that is late.
   */
  check(): void {
    if (this.#clock.now() >= this.#endsAt) this.#controller.abort();
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
