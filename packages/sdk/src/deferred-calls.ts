/**
 * Tracks which call of a turn Claude Code has deferred. Claude Code resumes one deferred call per
 * turn, and none of a subagent. It silently drops the others.
 */

/** The part of a hook's input that this file uses. */
export interface DeferrableCall {
  readonly session_id: string;
  readonly tool_use_id: string;
  readonly prompt_id?: string;
  /** Only in a subagent. */
  readonly agent_id?: string;
}

export class DeferredCalls {
  readonly #callByTurn = new Map<string, string>();

  /** @returns why the call cannot be deferred; undefined if it is the deferred call of its turn */
  defer(call: DeferrableCall): string | undefined {
    if (call.agent_id !== undefined) return "a call of a subagent cannot be suspended";
    const turn = turnOf(call);
    const deferred = this.#callByTurn.get(turn) ?? call.tool_use_id;
    if (deferred !== call.tool_use_id) return "another call of this turn waits for its approval";
    this.#callByTurn.set(turn, deferred);
    return undefined;
  }

  /** Removes a call that has its decision. */
  settle(call: DeferrableCall): void {
    const turn = turnOf(call);
    if (this.#callByTurn.get(turn) === call.tool_use_id) this.#callByTurn.delete(turn);
  }
}

/** A resumed turn has no prompt id. */
function turnOf({ session_id: sessionId, prompt_id: promptId = "" }: DeferrableCall): string {
  return `${sessionId} ${promptId}`;
}
