/**
 * Waking within one process.
 */

import type { Signal, Wake } from "./wake.ts";

export class LocalWake implements Wake {
  readonly #byRequest = new Map<string, Set<() => void>>();
  readonly #listeners = new Set<(signal: Signal) => void>();
  #released = false;
  waiting = 0;

  signal(signal: Signal): void {
    for (const listener of this.#listeners) listener(signal);
    if (signal.kind === "resolved") this.resolvedElsewhere(signal.requestId);
  }

  resolvedElsewhere(requestId: string): void {
    for (const callback of [...(this.#byRequest.get(requestId) ?? [])]) callback();
  }

  awaited(): string[] {
    return [...this.#byRequest.keys()];
  }

  /** Whether somebody waits for this request. */
  isAwaited(requestId: string): boolean {
    return this.#byRequest.has(requestId);
  }

  onResolved(requestId: string, callback: () => void): () => void {
    if (this.#released) {
      queueMicrotask(callback);
      return () => {};
    }
    const callbacks = this.#byRequest.get(requestId) ?? new Set();
    this.#byRequest.set(requestId, callbacks.add(callback));
    this.waiting++;
    return () => {
      if (!callbacks.delete(callback)) return;
      this.waiting--;
      if (callbacks.size === 0) this.#byRequest.delete(requestId);
    };
  }

  onSignal(callback: (signal: Signal) => void): () => void {
    this.#listeners.add(callback);
    return () => this.#listeners.delete(callback);
  }

  releaseAll(): void {
    this.#released = true;
    for (const callbacks of [...this.#byRequest.values()]) {
      for (const callback of [...callbacks]) callback();
    }
  }
}
