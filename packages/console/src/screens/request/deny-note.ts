/**
 * The note of a denial. A question is a denial that asks the agent to request the call again,
 * because the contract has no other answer. Pure.
 */

export interface DenialDraft {
  readonly reason: string;
  readonly isQuestion: boolean;
}

export function noteOfDenial({ reason, isQuestion }: DenialDraft): string {
  if (!isQuestion) return reason;
  return (
    `Question from the reviewer: ${reason.trim()}\n` +
    "Answer the question in your explanation of the call, and request the call again."
  );
}
