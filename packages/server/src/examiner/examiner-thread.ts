/**
 * Runs the examiner in a worker thread. The thread starts on demand and stops when idle. A policy
 * that uses too much time or memory stops it at once.
 *
 * Guarantees: one policy at a time, first in, first out. The event loop is blocked only while it
 * compiles a few rules.
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { ProblemFinding } from "@countersign/protocol";
import type { Clock } from "../clock.ts";
import { Failure } from "../failure.ts";
import type { Examination, ExaminationOrder, Examiner } from "./examiner.ts";
import { unpackPolicy } from "./packed-policy.ts";
import type { ThreadAnswer } from "./thread-entry.ts";

/** Time limit of one policy including its tests, which have a shorter limit of their own. */
export const EXAMINATION_MS_MAX = 10_000;

/** Memory limit of the thread's objects, in MiB. */
export const EXAMINATION_MIB_MAX = 128;

/** Idle time after which the thread stops, to release its memory. */
const IDLE_MS = 30_000;

/**
 * An exchange takes several event loop iterations. None of them should wait for a part of a policy.
 */
const TURNS = 4;

interface Job {
  readonly order: ExaminationOrder;
  readonly resolve: (examination: Examination | Promise<Examination>) => void;
  readonly reject: (failure: Failure) => void;
}

export class ExaminerThread implements Examiner {
  readonly #clock: Pick<Clock, "after">;
  readonly #waiting: Job[] = [];
  #worker: Worker | undefined;
  #current: Job | undefined;
  /** Cancels the timeout of the current job, or of the idle thread. */
  #cancel: () => void = () => {};
  #isClosed = false;

  constructor(clock: Pick<Clock, "after">) {
    this.#clock = clock;
  }

  /** True while a thread is running. */
  get isRunning(): boolean {
    return this.#worker !== undefined;
  }

  examine(order: ExaminationOrder): Promise<Examination> {
    const { promise, resolve, reject } = Promise.withResolvers<Examination>();
    if (this.#isClosed) return Promise.reject(stopping());
    this.#waiting.push({ order, resolve, reject });
    if (this.#current === undefined) this.#next();
    return promise;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const open = [this.#current, ...this.#waiting.splice(0)];
    await this.#end();
    for (const job of open) job?.reject(stopping());
  }

  #next(): void {
    this.#cancel();
    const job = this.#waiting.shift();
    this.#current = job;
    if (job === undefined) {
      this.#worker?.unref();
      this.#cancel = this.#clock.after(IDLE_MS, () => this.#end());
      return;
    }
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#cancel = this.#clock.after(EXAMINATION_MS_MAX, () => {
      this.#end();
      this.#settle(stopped(`takes longer than ${EXAMINATION_MS_MAX / 1000} s to examine`));
    });
    this.#worker.postMessage(job.order);
  }

  #start(): Worker {
    const worker = new Worker(new URL(import.meta.resolve("#examiner-thread")), {
      name: "countersign-examiner",
      // It needs no secrets.
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: EXAMINATION_MIB_MAX, maxYoungGenerationSizeMb: 16 },
    });
    worker.on("message", (answer: ThreadAnswer) => {
      if (worker === this.#worker) this.#answered(answer);
    });
    worker.on("error", (error) => {
      if (worker === this.#worker) this.#lost(error);
    });
    // An exit without an earlier error: no code exits the thread.
    worker.on("exit", () => {
      if (worker === this.#worker) this.#lost(new Error("the thread exited unexpectedly"));
    });
    return worker;
  }

  #answered({ packed, ...said }: ThreadAnswer): void {
    const { source = "" } = this.#current?.order ?? {};
    const unpacked = packed && unpackPolicy(source, packed, pause);
    const whole = async () => ({ ...said, policy: await unpacked, isStopped: false });
    this.#settle(whole());
  }

  #lost(error: unknown): void {
    this.#end();
    const isMemory = error instanceof Error && "code" in error && error.code === OUT_OF_MEMORY;
    if (isMemory) {
      this.#settle(stopped(`needs more than ${EXAMINATION_MIB_MAX} MiB of memory to examine`));
      return;
    }
    const job = this.#current;
    job?.reject(new Failure("examiner", "the thread that loads policies failed", error));
    this.#next();
  }

  #settle(examination: Examination | Promise<Examination>): void {
    this.#current?.resolve(examination);
    this.#next();
  }

  async #end(): Promise<void> {
    this.#cancel();
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }
}

const OUT_OF_MEMORY = "ERR_WORKER_OUT_OF_MEMORY";

function stopped(why: string): Examination {
  const finding: ProblemFinding = { line: 1, column: 1, path: "", message: `the policy ${why}` };
  return {
    policy: undefined,
    findings: [finding],
    tests: [],
    warnings: [],
    rules: 0,
    outlines: [],
    isStopped: true,
  };
}

function stopping(): Failure {
  return new Failure("examiner", "the server is stopping");
}

async function pause(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await nextTurn();
}
