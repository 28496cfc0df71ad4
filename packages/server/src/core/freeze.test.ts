import assert from "node:assert/strict";
import { test } from "node:test";
import { freezeDecision, scopeOf } from "./freeze.ts";

test("[ours.freeze.powers] a freeze is laid on an instance, on its project or on the whole server", () => {
  assert.equal(scopeOf({ projectId: "p", instanceId: "i" }), "instance");
  assert.equal(scopeOf({ projectId: "p", instanceId: "" }), "project");
  assert.equal(scopeOf({ projectId: "", instanceId: "" }), "server");
});

test("[ours.freeze.pending] what a freeze covers is denied by it, with its note or the word for it", () => {
  const ending = { status: "denied", by: "freeze:f" };
  assert.deepEqual(freezeDecision({ id: "f", note: 'a "b"' }), { ...ending, note: '"a \\"b\\""' });
  assert.deepEqual(freezeDecision({ id: "f", note: "" }), { ...ending, note: '""' });
  assert.deepEqual(freezeDecision({ id: "f", note: null }), { ...ending, note: '"Frozen."' });
});
