/**
 * Tracks which call of a turn Claude Code has deferred. Claude Code resumes one deferred call per
 * turn, and none of a subagent. It silently drops the others.
 */

/** The part of a hook's input that this file uses. */
export interface DeferrableCall {
  readonly session_id: string;
  readonly tool_use_id: string;
  /** Id of the turn. A resumed turn has none. */
  readonly prompt_id?: string | undefined;
  /** Only in a subagent. */
  readonly agent_id?: string;
}

export class DeferredCalls {
  /** The latest deferred call of each session. */
  readonly #bySession = new Map<string, DeferrableCall>();

  /** @returns why the call cannot be deferred; undefined if it is the deferred call of its turn */
  defer(call: DeferrableCall): string | undefined {
    if (call.agent_id !== undefined) return "a call of a subagent cannot be suspended";
    const { session_id, tool_use_id, prompt_id } = call;
    const deferred = this.#bySession.get(session_id);
    const isOther = deferred !== undefined && deferred.tool_use_id !== tool_use_id;
    if (isOther && deferred.prompt_id === prompt_id) {
      return "another call of this turn waits for its approval";
    }
    this.#bySession.set(session_id, { session_id, tool_use_id, prompt_id });
    return undefined;
  }

  /** Whether this call is deferred, and has no decision. */
  has(toolUseId: string): boolean {
    return [...this.#bySession.values()].some((call) => call.tool_use_id === toolUseId);
  }

  /** Removes a call that has its decision. */
  settle({ session_id, tool_use_id }: DeferrableCall): void {
    if (this.#bySession.get(session_id)?.tool_use_id === tool_use_id) {
      this.#bySession.delete(session_id);
    }
  }
}
