import assert from "node:assert/strict";
import { test } from "node:test";
import { uuidV7 } from "@countersign/protocol";
import { requestIdOf, transitionsOf } from "./request-entry.ts";

const AT = 1_795_315_320_057;

const idAt = (ms: number) => uuidV7(ms, new Uint8Array(10));

function transitions({
  kind = "request.resolved",
  id = idAt(AT),
  at = AT,
  detail = {},
}: {
  readonly kind?: string;
  readonly id?: string;
  readonly at?: number;
  readonly detail?: object;
}) {
  const subject = `request:${idAt(AT)}`;
  return transitionsOf({
    id,
    at,
    kind,
    actor: "",
    subject,
    detail: { ...detail },
  });
}

test("[ours.audit.at-once] the id of the request is the rest of the subject", () => {
  assert.equal(requestIdOf({ subject: "request:1" }), "1");
  assert.equal(requestIdOf({ subject: "instance:request:1" }), undefined);
});

test("[ours.audit.at-once] an entry records the opening, the resolution, both, or neither", () => {
  const detail = { opened_by: "instance:1" };
  assert.deepEqual(transitions({ kind: "request.opened" }), ["request.opened"]);
  assert.deepEqual(transitions({}), ["request.resolved"]);
  assert.deepEqual(transitions({ detail }), ["request.opened", "request.resolved"]);
  assert.deepEqual(transitions({ kind: "vote.cast", detail }), []);
});

test("[ours.audit.at-once] an entry with another time than the creation opens no request", () => {
  const detail = { opened_by: "instance:1" };
  assert.deepEqual(transitions({ detail, at: AT + 1 }), ["request.resolved"]);
  assert.deepEqual(transitions({ detail, id: idAt(AT + 1) }), ["request.resolved"]);
  assert.deepEqual(transitions({ detail, at: AT + 1, id: idAt(AT + 1) }), ["request.resolved"]);
});
