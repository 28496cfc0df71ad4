import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReviewedRequest } from "@countersign/review-api";
import { offersRest, restGrant } from "./rest-grant.ts";

const REQUIREMENT = { from: [], quorum: 1, exclude: [], confirm: { kind: "click" }, grants: true };
const POLICY = { because: "no-policy", errors: [] };

function requestWith(requirement: object = {}, policy: object = {}): ReviewedRequest {
  return {
    id: "r",
    requirement: { ...REQUIREMENT, ...requirement },
    policy: { ...POLICY, ...policy },
  } as unknown as ReviewedRequest;
}

const IN_TURN = '{"session_id":"s","turn_id":"t"}';

test("[ours.request.rest] the rest of a response is offered only for a context with session and turn", () => {
  for (const [contextText, isOffered] of [
    [IN_TURN, true],
    ['{"session_id":"s","prompt_id":"p"}', true],
    ['{"session_id":"s"}', false],
    ['{"session_id":"","turn_id":"t"}', false],
    ['{"turn_id":"t"}', false],
    ['{"session_id":"s","turn_id":""}', false],
    ['{"session_id":"s","turn_id":1,"prompt_id":"p"}', false],
    ["{}", false],
    ["null", false],
    [undefined, false],
  ] as const) {
    assert.equal(offersRest({ request: requestWith(), contextText }), isOffered, contextText);
  }
});

test("[ours.request.rest] the rest of a response is not offered where no grant could approve it", () => {
  for (const request of [
    requestWith({ grants: false }),
    requestWith({ quorum: 2 }),
    requestWith({ from: [["group:a"], ["group:b"]] }),
    requestWith({ confirm: { kind: "match" } }),
    requestWith({ confirm: { kind: "passkey" } }),
    requestWith({}, { because: "inexact" }),
    requestWith({}, { because: "error", errors: [{ rule: "a", message: "m" }] }),
  ]) {
    assert.equal(offersRest({ request, contextText: IN_TURN }), false, JSON.stringify(request));
  }
});

test("[ours.request.rest] the grant is for the turn of the request, with its tool or with any tool", () => {
  const bounds = { from_request: "r", same_turn: true, calls: 100, lasts: "1h" };
  assert.deepEqual(restGrant(requestWith(), "same", ""), bounds);
  assert.deepEqual(restGrant(requestWith(), "any", "go"), {
    ...bounds,
    tool: "*",
    any_server: true,
    note: "go",
  });
});
