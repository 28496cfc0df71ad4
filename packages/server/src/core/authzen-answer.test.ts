import assert from "node:assert/strict";
import test from "node:test";
import {
  type CallEvaluation,
  isPermitted,
  isRequestable,
  writeDecision,
} from "./authzen-answer.ts";

const OUTCOMES = ["approve", "ask", "deny", "frozen"] as const;

const APPROVALS = [
  undefined,
  { kind: "valid", id: "i", expiresAt: 1_000 },
  { kind: "expired" },
  { kind: "out_of_scope" },
  { kind: "unverifiable" },
] as const;

function evaluation(
  outcome: CallEvaluation["outcome"],
  approval: CallEvaluation["approval"],
): CallEvaluation {
  return { outcome, because: "rule", note: undefined, approval, at: 0 };
}

test("[ours.authzen.evaluate] only an approving policy, or a valid approval of an undecided call, permits", () => {
  const permitted: string[] = [];
  for (const outcome of OUTCOMES) {
    for (const approval of APPROVALS) {
      if (isPermitted(evaluation(outcome, approval)))
        permitted.push(`${outcome} ${approval?.kind}`);
    }
  }
  const always = ["undefined", "valid", "expired", "out_of_scope", "unverifiable"];
  assert.deepEqual(permitted, [...always.map((kind) => `approve ${kind}`), "ask valid"]);
});

test("[ours.authzen.request] only calls that reviewers decide are requestable, and never with an unverifiable approval", () => {
  const requestable: string[] = [];
  for (const outcome of OUTCOMES) {
    for (const approval of APPROVALS) {
      if (isRequestable(evaluation(outcome, approval)))
        requestable.push(`${outcome} ${approval?.kind}`);
    }
  }
  assert.deepEqual(requestable, ["ask undefined", "ask expired", "ask out_of_scope"]);
});

test("[ours.authzen.reevaluate] next_action is present only with a reference to an approval", () => {
  const denial = { endpoint: "https://e", bindingToken: "t", expiresAt: 60_000 };
  const first = writeDecision(evaluation("ask", undefined), denial);
  assert.deepEqual(first.context.access_request, {
    endpoint: "https://e",
    expires_at: "1970-01-01T00:01:00.000Z",
    binding_token: "t",
  });
  assert.equal(first.context.next_action, undefined);
  const again = writeDecision(evaluation("ask", { kind: "expired" }), denial);
  assert.equal(again.context.next_action, "request");
  const denied = writeDecision(evaluation("deny", { kind: "out_of_scope" }), undefined);
  assert.deepEqual([denied.context.reason, denied.context.next_action], ["policy_denied", "none"]);
});
