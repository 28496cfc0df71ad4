/** One line of doctor. */

export interface Finding {
  /** Stable name of what was looked at, for scripts. */
  readonly check: string;
  /** `fail`: calls may run unasked, or none can. `warn`: something to know. */
  readonly level: "ok" | "warn" | "fail";
  readonly text: string;
  /** What to do about it. */
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
