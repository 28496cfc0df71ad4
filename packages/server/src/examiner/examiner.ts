/**
 * Loads and tests policies for the server. A file within its limits can take seconds, so a worker
 * thread does it.
 */

import type { Examined } from "../policy/examine.ts";
import type { RuleOutline } from "../policy/outline.ts";
import type { LoadOptions, Policy } from "../policy/rule.ts";

export interface ExaminationOrder extends LoadOptions {
  readonly source: string;
  /** True: run the policy's own tests. */
  readonly runsTests: boolean;
  /** True: return the policy, and not only its findings. */
  readonly wantsPolicy: boolean;
}

export interface Examination extends Pick<Examined, "findings" | "tests"> {
  /** Undefined when it does not load or was not requested. */
  readonly policy: Policy | undefined;
  /** Valid but probably unintended parts; none when it does not load. */
  readonly warnings: Policy["warnings"];
  /** Number of rules; 0 when it does not load. */
  readonly rules: number;
  /** The rules as data; none when it does not load. */
  readonly outlines: readonly RuleOutline[];
  /** True when it exceeded a limit; a finding names the limit. */
  readonly isStopped: boolean;
}

export interface Examiner {
  /**
   * Examines any source within a limit of time and memory.
   *
   * @throws Failure when no thread can examine it now
   */
  examine(order: ExaminationOrder): Promise<Examination>;

  /** Stops the current job with a Failure. */
  close(): Promise<void>;
}
