/**
 * Checkpoints of SQLite in a thread with its own connection. A checkpoint of 64 MB would hold the
 * event loop for up to 150 ms. Commits go on meanwhile.
 */

import { once } from "node:events";
import { Worker } from "node:worker_threads";

export type CheckpointOrder = "checkpoint" | "close";

export interface CheckpointMessage {
  /** The database has all that was committed before the checkpoint started. */
  readonly isComplete: boolean;
}

export class CheckpointThread {
  readonly #file: string;
  #worker: Worker | undefined;
  #settle: ((isComplete: boolean) => void) | undefined;

  /** @param file of the database. The thread starts with the first checkpoint. */
  constructor(file: string) {
    this.#file = file;
  }

  /**
   * Call it again only after the result.
   *
   * @returns whether it copied all that was committed before; false after a failure, as on a full
   * disk, or with a reader of an older state
   */
  run(): Promise<boolean> {
    this.#worker ??= this.#start();
    this.#worker.ref();
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#worker?.postMessage("checkpoint" satisfies CheckpointOrder);
    });
  }

  /** Resolves when the connection of the thread is closed. */
  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    if (worker === undefined) return;
    worker.postMessage("close" satisfies CheckpointOrder);
    await once(worker, "exit");
  }

  #start(): Worker {
    const worker = new Worker(new URL(import.meta.resolve("#checkpoint-thread")), {
      name: "countersign-checkpoint",
      workerData: { file: this.#file },
      // It needs no secrets.
      env: {},
    });
    worker.on("message", ({ isComplete }: CheckpointMessage) => this.#finish(isComplete));
    worker.on("error", () => this.#lose(worker));
    worker.on("exit", () => this.#lose(worker));
    return worker;
  }

  #finish(isComplete: boolean): void {
    this.#worker?.unref();
    this.#settle?.(isComplete);
    this.#settle = undefined;
  }

  /** The next checkpoint starts a new thread. */
  #lose(worker: Worker): void {
    if (worker !== this.#worker) return;
    this.#finish(false);
    this.#worker = undefined;
  }
}
