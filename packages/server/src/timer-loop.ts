/**
 * Runs one job repeatedly, never concurrently: at the time that the job returns, after its interval
 * at the latest, and earlier on request.
 */

import type { Clock } from "./clock.ts";
import type { Report } from "./report.ts";

export interface Worker {
  /** Resolves when no run of the worker is active. */
  stop(): Promise<void>;
}

export interface TimerJob {
  /** Dependency name in failure reports. */
  readonly name: string;
  /**
   * The longest pause between two runs, and the pause after a failure, in ms: at least a second,
   * because the clock may coalesce the run with others.
   */
  readonly intervalMs: number;
  /** Delay of the first run, in ms. */
  readonly firstDelayMs: number;
  /** @returns epoch ms of the next run; undefined: after `intervalMs`; Infinity: only on request */
  run(): Promise<number | undefined>;
}

export class TimerLoop implements Worker {
  readonly #clock: Clock;
  readonly #report: Pick<Report, "dependencyFailed">;
  readonly #job: TimerJob;
  #running: Promise<void> | undefined;
  /** Time of the armed timer, epoch ms. */
  #nextAt = Number.POSITIVE_INFINITY;
  #cancel = () => {};
  #isRequested = false;
  #isStopped = false;

  constructor(clock: Clock, report: Pick<Report, "dependencyFailed">, job: TimerJob) {
    this.#clock = clock;
    this.#report = report;
    this.#job = job;
    this.#arm(clock.now() + job.firstDelayMs);
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Runs the job at this time, epoch ms, unless it runs earlier. */
  runAt(at: number): void {
    if (at < this.#nextAt) this.#arm(at);
  }

  /** Starts a run now, or after the current run. */
  runNow(): void {
    if (this.#isStopped) return;
    this.#isRequested = this.#running !== undefined;
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#running;
  }

  #arm(at: number): void {
    this.#cancel();
    this.#nextAt = at;
    if (this.#isStopped || at === Number.POSITIVE_INFINITY) return;
    this.#cancel = this.#clock.after(Math.max(0, at - this.#clock.now()), () => {
      // The end of a run considers times that fell due during it.
      this.#running ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    let next: number | undefined;
    do {
      this.#isRequested = false;
      // Lets any time that is requested during the run arm the timer.
      this.#arm(Number.POSITIVE_INFINITY);
      next = await this.#runOnce();
    } while (this.#isRequested && !this.#isStopped);
    this.#running = undefined;
    const atLatest = this.#clock.coalesced(this.#clock.now() + this.#job.intervalMs);
    this.#arm(Math.min(this.#nextAt, next ?? atLatest));
  }

  async #runOnce(): Promise<number | undefined> {
    try {
      return await this.#job.run();
    } catch (error) {
      this.#report.dependencyFailed(this.#job.name, error);
      return undefined;
    }
  }
}
