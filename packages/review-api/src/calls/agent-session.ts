/** The session and the turn of a call, as the agent reports them in the context. */

type Members = Readonly<Record<string, unknown>>;

/** @param context the text of the context, valid JSON; null or undefined without one */
export function sessionIn(context: string | null | undefined): string | undefined {
  return nameOf(membersOf(context).session_id);
}

/** The turn of Codex, or the prompt of Claude Code: all calls for one input of the user. */
export function turnIn(context: string | null | undefined): string | undefined {
  const members = membersOf(context);
  return nameOf(Object.hasOwn(members, "turn_id") ? members.turn_id : members.prompt_id);
}

function membersOf(context: string | null | undefined): Members {
  const value: unknown = JSON.parse(context ?? "null");
  return typeof value === "object" && value !== null ? (value as Members) : {};
}

function nameOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
