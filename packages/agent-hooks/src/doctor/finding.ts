/** One result of doctor. */

export interface Finding {
  /** Stable name of the check, for scripts. */
  readonly check: string;
  /** `fail`: calls may run without approval, or no call can run. `warn`: a possible problem. */
  readonly level: "ok" | "warn" | "fail";
  readonly text: string;
  /** The step that fixes it. */
  readonly advice?: string | undefined;
}

export function ok(check: string, text: string): Finding {
  return { check, level: "ok", text };
}

export function warn(check: string, text: string, advice?: string): Finding {
  return { check, level: "warn", text, advice };
}

export function fail(check: string, text: string, advice?: string): Finding {
  return { check, level: "fail", text, advice };
}
