import assert from "node:assert/strict";
import { test } from "node:test";
import type { Reviewer } from "@countersign/review-api";
import { ANY_REVIEWER } from "../../requests/requirement-fixture.ts";
import { type Needed, whoCanApprove } from "./who-can.ts";

function reviewer(name: string, ...groups: string[]): Reviewer {
  return { id: name, name, kind: "person", role: "reviewer", groups, signs_in: true };
}

const REVIEWERS = [
  reviewer("ana", "dba"),
  reviewer("bo", "dba"),
  reviewer("cy", "security"),
  reviewer("di"),
];

function needed(requirement: Partial<Needed["requirement"]>, ...voters: string[]): Needed {
  return {
    requirement: { ...ANY_REVIEWER, ...requirement },
    votes: voters.map((name) => ({ reviewer: name })),
  };
}

test("[ours.request.approvers] the bar names each reviewer who can approve, the signed-in one first", () => {
  const found = whoCanApprove(needed({ from: [["group:dba", "reviewer:di"]] }), REVIEWERS, {
    me: "di",
  });
  assert.deepEqual(found, ["di", "ana", "bo"]);
  assert.deepEqual(whoCanApprove(needed({ quorum: 2 }, "ana"), REVIEWERS), ["bo", "cy", "di"]);
});

test("[ours.request.approvers] a set with its approvals names no reviewer, unless the quorum needs more", () => {
  const from = [["group:dba"], ["group:security"]];
  assert.deepEqual(whoCanApprove(needed({ from, quorum: 2 }, "ana"), REVIEWERS), ["cy"]);
  assert.deepEqual(whoCanApprove(needed({ from, quorum: 3 }, "ana"), REVIEWERS), ["bo", "cy"]);
  const quorums = [2, 1];
  assert.deepEqual(whoCanApprove(needed({ from, quorum: 3, quorums }, "cy"), REVIEWERS), [
    "ana",
    "bo",
  ]);
});

test("[ours.request.approvers] an excluded owner is not named, and without a known owner no reviewer is", () => {
  const excluding = needed({ quorum: 2, exclude: ["owner"] });
  const found = whoCanApprove(excluding, REVIEWERS, { me: "ana", owner: "ana" });
  assert.deepEqual(found, ["bo", "cy", "di"]);
  assert.deepEqual(whoCanApprove(excluding, REVIEWERS, { owner: null }), []);
  assert.deepEqual(whoCanApprove(excluding, REVIEWERS, { owner: undefined }), []);
  assert.ok(whoCanApprove(needed({ quorum: 2 }), REVIEWERS, { owner: "ana" }).includes("ana"));
});
