import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReviewedRequest } from "@countersign/review-api";
import { availableActions, hasUndo, type Seen } from "./available-actions.ts";

const DEADLINE = Date.parse("2026-01-01T01:00:00Z");

function asking(kind: "click" | "match" | "passkey"): ReviewedRequest {
  return {
    id: "r",
    status: "pending",
    deadline_at: "2026-01-01T01:00:00Z",
    votes: [],
    may_decide: { approve: true, deny: true },
    requirement: { confirm: { kind } },
  } as unknown as ReviewedRequest;
}

test("[ours.request.hold] an approval is delayed if the delay ends before the deadline, except with a passkey", () => {
  for (const [leftMs, isHeld] of [
    [3_600_000, true],
    [6_000, true],
    [5_999, false],
    [0, false],
    [-1, false],
  ] as const) {
    const now = DEADLINE - leftMs;
    assert.equal(hasUndo(asking("click"), now), isHeld, String(leftMs));
    assert.equal(hasUndo(asking("match"), now), isHeld, String(leftMs));
    assert.equal(hasUndo(asking("passkey"), now), false, String(leftMs));
  }
});

test("[ours.request.hold] without time for a delay, Approve warns that it takes effect immediately", () => {
  const seen: Omit<Seen, "request"> = {
    me: "ana",
    isOver: false,
    isShort: true,
    isLive: true,
    hasSeenEnd: true,
    isLoadingHistory: false,
    wasOffered: true,
  };
  const hint = (request: ReviewedRequest, more: Partial<Seen> = {}) =>
    availableActions({ ...seen, request, ...more }).hint;
  assert.match(hint(asking("click")), /takes effect immediately, without Undo/);
  assert.equal(hint(asking("click"), { isShort: false }), "");
  assert.equal(hint(asking("passkey")), "");
});
