/**
 * Runs one job again and again, never twice at the same time: at the time that the job asks for,
 * after its interval at the latest, and earlier on request.
 */

import type { Clock } from "./clock.ts";
import type { Report } from "./report.ts";

export interface Worker {
  /** Resolves when no work of the worker is running any more. */
  stop(): Promise<void>;
}

export interface TimerJob {
  /** The dependency that failures are reported for. */
  readonly name: string;
  /** The longest pause between two runs, ms. Also the pause after a failure. */
  readonly intervalMs: number;
  /** Before the first run. */
  readonly firstDelayMs: number;
  /**
   * @returns when to run next, epoch ms; undefined: after `intervalMs`, Infinity: only on request
   */
  run(): Promise<number | undefined>;
}

export class TimerLoop implements Worker {
  readonly #clock: Clock;
  readonly #report: Pick<Report, "dependencyFailed">;
  readonly #job: TimerJob;
  #running: Promise<void> | undefined;
  /** Of the armed timer, epoch ms. */
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

  /** Starts a run at once, or when the run under way ends. */
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
      // A time that falls due during a run is taken into account at the end of that run.
      this.#running ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    let next: number | undefined;
    do {
      this.#isRequested = false;
      // So that any time which is requested during the run arms the timer.
      this.#arm(Number.POSITIVE_INFINITY);
      next = await this.#runOnce();
    } while (this.#isRequested && !this.#isStopped);
    this.#running = undefined;
    this.#arm(Math.min(this.#nextAt, next ?? this.#clock.now() + this.#job.intervalMs));
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
