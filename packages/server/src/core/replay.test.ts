import assert from "node:assert/strict";
import { test } from "node:test";
import { parseCreateApprovalRequest, parseJson } from "@countersign/protocol";
import { isSameRequest } from "./replay.ts";
import type { StoredRequest } from "./request.ts";

const stored: StoredRequest = {
  id: "019c0000-0000-7000-8000-000000000001",
  instanceId: "019c0000-0000-7000-8000-000000000002",
  projectId: "019c0000-0000-7000-8000-000000000003",
  tool: '"pay"',
  arguments: '{"amount":1.50,"to":["é",null]}',
  timeout: "60s",
  agentReasoning: '"because"',
  context: '{"n":9007199254740993}',
  status: "pending",
  createdAt: 0,
  deadlineAt: 60_000,
  decision: null,
  policy: null,
  server: null,
};

/** Whether a submission with these changed members is the stored one again. */
function same(
  changes: Readonly<Record<string, string | undefined>>,
  request: StoredRequest = stored,
): boolean {
  const fields = {
    tool: stored.tool,
    arguments: stored.arguments,
    timeout: '"60s"',
    agent_reasoning: stored.agentReasoning,
    context: stored.context,
    ...changes,
  };
  const members = Object.entries(fields).filter(([, value]) => value !== undefined);
  const body = `{${members.map(([name, value]) => `"${name}":${value}`).join()}}`;
  return isSameRequest(request, parseCreateApprovalRequest(parseJson(body)));
}

test("[request.create.replay] [ours.idempotency.shape] the same values in another spelling are the same submission", () => {
  assert.ok(same({}));
  assert.ok(same({ tool: '"\\u0070ay"' }));
  assert.ok(same({ arguments: '{ "to" : ["\\u00e9", null], "amount": 15e-1 }' }));
  assert.ok(same({ agent_reasoning: '"bec\\u0061use"' }));
  assert.ok(same({ context: '{"n":9007199254740993.0}' }));
  assert.ok(same({ timeout: '"\\u0036\\u0030s"' }));
});

test("[request.create.conflict] another value in any field is another submission", () => {
  assert.equal(same({ tool: '"Pay"' }), false);
  assert.equal(same({ arguments: '{"amount":1.5,"to":["é"]}' }), false);
  assert.equal(same({ arguments: '{"amount":1.51,"to":["é",null]}' }), false);
  assert.equal(same({ arguments: '{"amount":"1.50","to":["é",null]}' }), false);
  assert.equal(same({ agent_reasoning: '""' }), false);
  assert.equal(same({ agent_reasoning: undefined }), false);
  assert.equal(same({ context: '{"n":9007199254740992}' }), false);
  assert.equal(same({ context: "{}" }), false);
  assert.equal(same({ context: undefined }), false);
});

test("[request.create.conflict] a field that was not submitted is not the same as an empty one", () => {
  const bare = { ...stored, agentReasoning: null, context: null };
  const without = { agent_reasoning: undefined, context: undefined };
  assert.ok(same(without, bare));
  assert.equal(same({ ...without, agent_reasoning: '""' }, bare), false);
  assert.equal(same({ ...without, context: "{}" }, bare), false);
});

test("[request.create.conflict] windows of equal length are different input when they are spelled differently", () => {
  assert.equal(same({ timeout: '"1m"' }), false);
  assert.equal(same({ timeout: '"61s"' }), false);
});

test("a request that was stored under wider limits can still be compared", () => {
  const digits = "7".repeat(5_000);
  const deep = `${"[".repeat(300)}${"]".repeat(300)}`;
  const request = { ...stored, arguments: `{"n":${digits},"d":${deep}}` };
  assert.equal(same({}, request), false);
});
