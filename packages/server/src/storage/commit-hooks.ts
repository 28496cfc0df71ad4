/**
 * The functions that one run of a transaction has registered for after its commit. A run that is
 * rolled back drops them, and a repeated run registers its own.
 */

export class CommitHooks {
  readonly #hooks: (() => void)[] = [];

  add(hook: () => void): void {
    this.#hooks.push(hook);
  }

  /** @throws what a hook throws, which is a bug; the caller of the transaction receives it */
  run(): void {
    for (const hook of this.#hooks.splice(0)) hook();
  }
}
