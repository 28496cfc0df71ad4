/** A benchmark scenario. */

import type { Outcome } from "../load-generator.ts";
import type { Subject, SubjectOptions } from "../subject.ts";

/** Runs for this long and says how fast it was. */
export type TimedRun = (seconds: number) => Promise<Outcome>;

/** One thing that callers do again and again. */
export interface Scenario {
  readonly name: "create" | "decide" | "replay" | "read" | "cancel" | "round-trip" | "rows";
  /** Source of the active policy; none without it. */
  readonly policy?: string;
  /** Starts what is measured, where that is not the provider. */
  readonly start?: (options: SubjectOptions) => Promise<Subject>;
  /**
   * Makes what the timed run uses, untimed.
   *
   * @param seconds how long the timed run will last
   */
  prepare(subject: Subject, seconds: number): Promise<TimedRun>;
}
