import assert from "node:assert/strict";
import { test } from "node:test";
import { consume, report, type StoredConsumption } from "./consumption.ts";
import type { StoredDecision, StoredRequest } from "./request.ts";

const DECIDED_AT = 1_000;
const EXPIRES_AT = 2_000;

function requestWith(decision: Partial<StoredDecision> | null): StoredRequest {
  const approved = { status: "approved", decidedAt: DECIDED_AT, expiresAt: EXPIRES_AT };
  return { decision: decision && { ...approved, ...decision } } as StoredRequest;
}

const APPROVED = requestWith({});

function consumption(more: Partial<StoredConsumption> = {}): StoredConsumption {
  return { keyHash: "one", consumedAt: 1_500, outcome: null, ...more };
}

test("[ours.extensions.consume.once] an approval is consumed once, by the first key", () => {
  assert.deepEqual(consume(APPROVED, undefined, "one", 1_500), {
    kind: "consumed",
    consumption: consumption(),
  });
  const refused = consume(APPROVED, consumption(), "two", 1_600);
  assert.deepEqual(refused, { kind: "refused", code: "already_consumed" });
});

test("[ours.extensions.consume.once] a retry with the same key gets the same result until the approval expires", () => {
  const repeated = consume(APPROVED, consumption(), "one", EXPIRES_AT - 1);
  assert.deepEqual(repeated, { kind: "replayed", consumption: consumption() });
  const late = consume(APPROVED, consumption(), "one", EXPIRES_AT);
  assert.deepEqual(late, { kind: "refused", code: "approval_expired" });
});

test("[ours.extensions.consume.once] at its end and after it an approval is used no more", () => {
  assert.equal(consume(APPROVED, undefined, "one", EXPIRES_AT - 1).kind, "consumed");
  for (const now of [EXPIRES_AT, EXPIRES_AT + 1]) {
    const refused = consume(APPROVED, undefined, "one", now);
    assert.deepEqual(refused, { kind: "refused", code: "approval_expired" });
  }
});

test("[ours.extensions.consume.once] a request without a valid approval cannot be consumed", () => {
  for (const request of [requestWith(null), requestWith({ expiresAt: null })]) {
    const refused = consume(request, undefined, "one", 1_500);
    assert.deepEqual(refused, { kind: "refused", code: "not_approved" });
  }
});

test("[ours.extensions.consume.once] no use is dated before its approval", () => {
  const used = consume(APPROVED, undefined, "one", DECIDED_AT - 500);
  assert.equal(used.kind === "consumed" && used.consumption.consumedAt, DECIDED_AT);
});

const DONE = { status: "succeeded", note: '"done"' } as const;

test("[ours.extensions.outcome] an outcome requires a consumption, may come late, and is never dated before it", () => {
  assert.deepEqual(report(undefined, DONE, 1_600), { kind: "refused", code: "not_consumed" });
  const late = { kind: "reported", outcome: { ...DONE, reportedAt: 9_000 } };
  assert.deepEqual(report(consumption(), DONE, 9_000), late);
  const early = { kind: "reported", outcome: { ...DONE, reportedAt: 1_500 } };
  assert.deepEqual(report(consumption(), DONE, 1_400), early);
});

test("[ours.extensions.outcome] an agent reports one outcome: a repetition is a replay, a different outcome is a conflict", () => {
  const reported = consumption({ outcome: { ...DONE, reportedAt: 1_600 } });
  assert.deepEqual(report(reported, DONE, 1_700), { kind: "replayed" });
  for (const other of [{ ...DONE, status: "failed" } as const, { ...DONE, note: null }]) {
    assert.deepEqual(report(reported, other, 1_700), { kind: "refused", code: "outcome_conflict" });
  }
});
