/** Wakes waiting exchanges within one process. */

import type { Signal, Wake } from "./wake.ts";

interface Awaited {
  readonly projectId: string;
  readonly callbacks: Set<() => void>;
}

export class LocalWake implements Wake {
  readonly #byRequest = new Map<string, Awaited>();
  readonly #listeners = new Set<(signal: Signal) => void>();
  #released = false;
  waiting = 0;

  signal(signal: Signal): void {
    for (const listener of this.#listeners) listener(signal);
    if (signal.kind === "resolved") this.resolvedElsewhere(signal.requestId);
  }

  resolvedElsewhere(requestId: string): void {
    for (const callback of [...(this.#byRequest.get(requestId)?.callbacks ?? [])]) callback();
  }

  awaited(): string[] {
    return [...this.#byRequest.keys()];
  }

  projectOf(requestId: string): string | undefined {
    return this.#byRequest.get(requestId)?.projectId;
  }

  onResolved(requestId: string, projectId: string, callback: () => void): () => void {
    if (this.#released) {
      queueMicrotask(callback);
      return () => {};
    }
    const awaited = this.#byRequest.get(requestId) ?? { projectId, callbacks: new Set() };
    this.#byRequest.set(requestId, awaited);
    const { callbacks } = awaited;
    callbacks.add(callback);
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
    for (const { callbacks } of [...this.#byRequest.values()]) {
      for (const callback of [...callbacks]) callback();
    }
  }
}
