/** The ids and the form of signals. */

/** Computed from the call alone; a policy can read these. */
export const CALL_SIGNALS = [
  "no_where",
  "unclear_sql",
  "pipe_to_shell",
  "recursive_delete",
  "force_push",
  "outside_project",
  "confusable_characters",
  "production_word",
  "unchecked",
] as const;

/** Computed from earlier calls of the same tool by the same instance. */
export const HISTORY_SIGNALS = [
  "first_time_for_instance",
  "denied_before",
  "amount_above_usual",
  "new_domain",
] as const;

export type SignalId = (typeof CALL_SIGNALS)[number] | (typeof HISTORY_SIGNALS)[number];

export interface Signal {
  readonly id: SignalId;
  /** The fact as a sentence. It can contain text of the agent. */
  readonly text: string;
  /** The value that the fact is about; undefined: the whole call. */
  readonly path?: string | undefined;
}

export const UNCHECKED: Signal = {
  id: "unchecked",
  text: "The arguments are too large to analyze, so nothing in them was checked.",
};

const PATH_CHARS_MAX = 200;

export function signal(id: SignalId, text: string, path?: string): Signal {
  if (path === undefined || path === "") return { id, text };
  return { id, text, path: path.slice(0, PATH_CHARS_MAX).toWellFormed() };
}
