/** Work that continues after a call has settled, such as the cancellation of a request. */
export class BackgroundWork {
  readonly #running = new Set<Promise<void>>();

  /** @param work never rejects */
  add(work: Promise<void>): void {
    const running = work.finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves when no work is running. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
