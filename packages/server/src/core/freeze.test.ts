import assert from "node:assert/strict";
import { test } from "node:test";
import { freezeDecision, scopeOf } from "./freeze.ts";

test("[ours.freeze.powers] a freeze is laid on an instance, on its project or on the whole server", () => {
  assert.equal(scopeOf({ projectId: "p", instanceId: "i" }), "instance");
  assert.equal(scopeOf({ projectId: "p", instanceId: "" }), "project");
  assert.equal(scopeOf({ projectId: "", instanceId: "" }), "server");
});

test("[ours.freeze.pending] a freeze denies the requests it covers, with its note or a default note", () => {
  const ending = { status: "denied", by: "freeze:f" };
  assert.deepEqual(freezeDecision({ id: "f", note: 'a "b"' }), { ...ending, note: '"a \\"b\\""' });
  assert.deepEqual(freezeDecision({ id: "f", note: "" }), { ...ending, note: '""' });
  assert.deepEqual(freezeDecision({ id: "f", note: null }), { ...ending, note: '"Frozen."' });
});
