import assert from "node:assert/strict";
import { test } from "node:test";
import { transitionsOf } from "./request-transitions.ts";

test("[ours.audit.at-once] an entry records the opening, the resolution, both, or neither", () => {
  const opened_by = "instance:1";
  assert.deepEqual(transitionsOf({ kind: "request.opened", detail: {} }), ["request.opened"]);
  assert.deepEqual(transitionsOf({ kind: "request.resolved", detail: {} }), ["request.resolved"]);
  assert.deepEqual(transitionsOf({ kind: "request.resolved", detail: { opened_by } }), [
    "request.opened",
    "request.resolved",
  ]);
  assert.deepEqual(transitionsOf({ kind: "vote.cast", detail: { opened_by } }), []);
});
