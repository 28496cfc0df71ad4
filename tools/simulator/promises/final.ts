import type { Promised } from "../facts.ts";

const DECIDED = ["status", "decided_at", "expires_at", "decided_by", "note"] as const;

export const FINAL: Promised = {
  id: "I1",
  says: "A decision, once made, never changes.",

  onCommit({ world }, { changes }) {
    for (const { table, key, before, after } of changes) {
      if (table !== "request" || before === undefined || after === undefined) continue;
      if (before.status === "pending") continue;
      const changed = DECIDED.filter((column) => before[column] !== after[column]);
      world.assert(changed.length === 0, "I1", () => `${key} changed its ${changed}`);
    }
  },

  onAnswer({ world, reported }, { answer: { status, text } }) {
    const request = requestIn(status, text);
    if (request?.decision === undefined) return;
    const decision = JSON.stringify(request.decision);
    const before = reported.get(request.id) ?? decision;
    world.assert(before === decision, "I1", () => `${before} was answered, and now ${decision}`);
    reported.set(request.id, decision);
  },
};

/** The request of an answer, if there is one. */
export function requestIn(status: number, text: string): AnsweredRequest | undefined {
  if (status < 200 || status > 299 || !text.includes('"deadline_at"')) return undefined;
  return JSON.parse(text) as AnsweredRequest;
}

export interface AnsweredRequest {
  readonly id: string;
  readonly status: string;
  readonly deadline_at: string;
  readonly decision?: { readonly status: string; readonly decided_at: string };
}
