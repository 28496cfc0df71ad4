import assert from "node:assert/strict";
import { test } from "node:test";
import { addToPolicy } from "@countersign/review-api/policy-text";
import type { StoredRequest } from "../../core/request.ts";
import { loadPolicy } from "../../policy/load.ts";
import { findCandidates } from "./findCandidates.ts";

const INSTANCE = "0190f2a0-0000-7000-8000-000000000001";

const APPROVED: StoredRequest = {
  id: "r",
  instanceId: INSTANCE,
  projectId: "p",
  tool: '"db.re*d"',
  server: null,
  arguments: '{"a":"x\\n\\"y\\"","n":-5,"l":[true,null]}',
  timeout: "5m",
  agentReasoning: null,
  context: null,
  policy: null,
  status: "approved",
  createdAt: 0,
  deadlineAt: 1,
  decision: {
    status: "approved",
    note: null,
    decidedAt: 0,
    expiresAt: 1,
    decidedBy: "reviewer:ana",
  },
};

function times(count: number, change: Partial<StoredRequest> = {}): readonly StoredRequest[] {
  return Array.from({ length: count }, () => ({ ...APPROVED, ...change }));
}

const DECISION = { note: null, decidedAt: 0, expiresAt: null };
const DENIED = {
  status: "denied",
  decision: { ...DECISION, status: "denied", decidedBy: "reviewer:ana" },
} as const;

function judged(fields: object): string {
  const judgement = { verb: "ask", because: "x", fired: [], errors: [], project: null };
  return JSON.stringify({ ...judgement, floor: null, ...fields });
}

test("[ours.policy.suggestions] five approvals by people of the same call lead to a valid rule", () => {
  const [candidate, ...others] = findCandidates(times(5));
  assert.equal(others.length, 0);
  assert.deepEqual([candidate?.approvals, candidate?.questions], [5, 5]);
  for (const source of [
    undefined,
    "version: 1\nrules: []\n",
    "version: 1\nrules: [ ] # none\n",
    "version: 1\nrules: # all\n- { id: a, then: ask }\ntests: []\n",
    "version: 1\ntwo_person: false\nrules:\n    # first\n    - id: a\n      then: ask\n",
  ]) {
    const draft = addToPolicy(source, candidate ?? assert.fail()) ?? assert.fail();
    const { rules } = loadPolicy(draft, { kind: "project" });
    assert.ok(rules.some(({ id, verb }) => id.startsWith("suggested-") && verb === "approve"));
  }
  assert.equal(
    addToPolicy("version: 1\nrules: [{ id: a, then: ask }]\n", { rule: ["- id: b"] }),
    undefined,
  );
});

test("[ours.policy.suggestions] fewer approvals, or one denial anywhere, lead to no candidate", () => {
  assert.deepEqual(findCandidates(times(4)), []);
  const elsewhere = { ...DENIED, instanceId: "other" };
  assert.deepEqual(findCandidates([...times(9), ...times(1, elsewhere)]), []);
  assert.equal(
    findCandidates([...times(9), ...times(1, { ...DENIED, arguments: "{}" })]).length,
    1,
  );
});

test("[ours.policy.suggestions] calls with a passkey, a quorum or a changed tool lead to no candidate", () => {
  const context = '{"tool_definition_change":{}}';
  assert.deepEqual(findCandidates(times(9, { context })), []);
  const requirement = {
    from: [],
    quorum: 2,
    exclude: [],
    confirm: { kind: "click" },
    noteRequired: false,
    grants: true,
    bots: false,
  };
  assert.deepEqual(findCandidates(times(9, { policy: judged({ requirement }) })), []);
  const passkey = { ...requirement, quorum: 1, confirm: { kind: "passkey" } };
  assert.deepEqual(findCandidates(times(9, { policy: judged({ requirement: passkey }) })), []);
});

test("[ours.policy.suggestions] decisions of rules and numbers that are not exact lead to no candidate", () => {
  const decidedBy = "policy:x" as const;
  const byRule = { ...DECISION, status: "approved", decidedBy } as const;
  assert.deepEqual(findCandidates(times(9, { decision: byRule })), []);
  assert.deepEqual(findCandidates(times(9, { arguments: '{"n":1.5}' })), []);
});
