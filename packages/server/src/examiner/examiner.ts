/**
 * Reads policies for the server. A file within its limits can take seconds to read and to
 * test, so a worker thread does it.
 */

import type { Examined } from "../policy/examine.ts";
import type { LoadOptions, Policy } from "../policy/rule.ts";

export interface ExaminationOrder extends LoadOptions {
  readonly source: string;
  /** Whether the policy's own tests are run. */
  readonly runsTests: boolean;
  /** Whether the policy is wanted, and not only what is said about it. */
  readonly wantsPolicy: boolean;
}

export interface Examination extends Pick<Examined, "findings" | "tests"> {
  /** Undefined when it does not load, or was not wanted. */
  readonly policy: Policy | undefined;
  /** What is allowed and yet probably not meant; none when it does not load. */
  readonly warnings: Policy["warnings"];
  /** How many; 0 when it does not load. */
  readonly rules: number;
  /** Whether it was stopped because it took too much; a finding says what. */
  readonly isStopped: boolean;
}

export interface Examiner {
  /**
   * Answers whatever the source is, within a limit of time and memory.
   *
   * @throws Failure when no thread can examine it now
   */
  examine(order: ExaminationOrder): Promise<Examination>;

  /** Ends what is under way, with a Failure. */
  close(): Promise<void>;
}
