import assert from "node:assert/strict";
import { test } from "node:test";
import type { Channel, Grant, Instance, Reviewer } from "@countersign/review-api";
import type { Actual } from "./actual.ts";
import { Documents } from "./document.ts";
import { KINDS } from "./kinds/index.ts";
import { makePlan, type Plan } from "./make-plan.ts";
import { parseDocuments } from "./parse-documents.ts";
import { nameStep } from "./render-plan.ts";

const NOTHING = { current: { scope: "project", number: 0 }, proposals: [] } as const;

const EMPTY: Actual = {
  project: { name: "shop", reviewer: { id: "1", name: "ana" }, role: "admin" },
  reviewers: [],
  instances: [],
  channels: [],
  policies: { policy: NOTHING, floor: NOTHING },
  invitations: [],
  tokens: [],
  grants: [],
};

function reviewerOf(id: string, name: string, groups: readonly string[]): Reviewer {
  return { id, name, kind: "person", role: "reviewer", groups: [...groups], signs_in: true };
}

function plan(text: string, actual: Partial<Actual>, secrets: Record<string, string> = {}): Plan {
  const { documents, findings } = parseDocuments("a.yaml", text, KINDS);
  assert.deepEqual(findings, []);
  return makePlan(KINDS, {
    documents: new Documents(documents),
    actual: { ...EMPTY, ...actual },
    readSecret: (source) => ("env" in source ? secrets[source.env] : undefined),
    setsSecrets: false,
  });
}

function textOf({ steps }: Plan): string[] {
  return steps.flatMap((step) => [nameStep(step), ...step.details]);
}

test("[ours.apply.export] a group decides its members, and other groups of a member stay", () => {
  const reviewers = [
    reviewerOf("1", "ana", ["ops", "release"]),
    reviewerOf("2", "ben", ["ops"]),
    reviewerOf("3", "eve", ["release"]),
  ];
  const text = `kind: Group
name: release
reviewers: [ana, ben]
---
kind: Reviewer
name: ben
role: viewer
`;
  assert.deepEqual(textOf(plan(text, { reviewers })), [
    "~ Reviewer ben",
    "role: reviewer -> viewer",
    "groups: ops -> ops, release",
    "~ Reviewer eve",
    "groups: release -> -",
  ]);
});

test("[ours.apply.prune] deletions come last, in reverse order, and not for kinds without documents", () => {
  const reviewers = [
    reviewerOf("1", "ana", []),
    { ...reviewerOf("2", "ben", []), signs_in: false },
    { ...reviewerOf("3", "ci", []), signs_in: false, kind: "bot" as const },
  ];
  const text = "kind: Reviewer\nname: zoe\nrole: viewer\n---\nkind: Bot\nname: new\nrole: viewer\n";
  const { steps, surplus } = plan(text, { reviewers });
  assert.deepEqual(steps.map(nameStep), ["+ Reviewer zoe", "+ Bot new"]);
  assert.deepEqual(surplus.map(nameStep), ["- Bot ci", "- Reviewer ben"]);
  assert.deepEqual(plan("kind: Agent\nname: a\n", { reviewers }).surplus, []);
});

test("[ours.apply.prune] agents and people who sign in are never surplus", () => {
  const reviewers = [reviewerOf("1", "ana", []), reviewerOf("2", "ben", [])];
  const instances = [{ id: "4", name: "old", groups: [], owner: null, pending: 2 }];
  const actual = { reviewers, instances: instances as unknown as Instance[] };
  const text = "kind: Reviewer\nname: ana\nrole: reviewer\n---\nkind: Agent\nname: new\n";
  const { surplus, notes } = plan(text, actual);
  assert.deepEqual(surplus, []);
  assert.deepEqual(notes, ["Reviewer ben: no document, and kept because the person signs in."]);
});

function grantOf(state: Grant["state"], turn?: string): Grant {
  const [created_at, expires_at] = ["2026-01-01T08:00:00.000Z", "2026-01-01T09:00:00.000Z"];
  const instance = { id: "4", name: "deployer" };
  return {
    id: "6",
    state,
    instance,
    reviewer: { id: "1", name: "ana" },
    tool: "restart",
    turn,
    calls: 0,
    calls_max: 10,
    created_at,
    expires_at,
  } as Grant;
}

test("[ours.apply.grants] a grant is created again after its time, but not after it was revoked or used up", () => {
  const text = "kind: Grant\nagent: deployer\ntool: restart\nlasts: 60m\n";
  const instances = [{ id: "4", name: "deployer", groups: [], owner: null }];
  const planAfter = (...grants: readonly Grant[]) => {
    const { steps, surplus, notes } = plan(text, {
      instances: instances as unknown as Instance[],
      grants,
    });
    return [steps.length, surplus.length, notes.join()];
  };
  assert.deepEqual(planAfter(), [1, 0, ""]);
  assert.deepEqual(planAfter(grantOf("active"), grantOf("revoked")), [0, 0, ""]);
  assert.deepEqual(planAfter(grantOf("expired"), grantOf("revoked")), [1, 0, ""]);
  assert.deepEqual(planAfter(grantOf("active", "turn-1")), [1, 0, ""]);
  const name = "Grant restart of deployer, 10 calls in 1h";
  const revoked = `${name}: was revoked, and is not created again.`;
  assert.deepEqual(planAfter(grantOf("revoked"), grantOf("expired")), [0, 0, revoked]);
  const used = `${name}: was used up, and is not created again.`;
  assert.deepEqual(planAfter(grantOf("exhausted")), [0, 0, used]);
});

test("[ours.apply.secrets] a target is compared by the part that the server shows, and not without its secret", () => {
  const channel = {
    id: "5",
    name: "ops",
    kind: "slack",
    target: "https://hooks.slack.com/...",
    groups: [],
    include_arguments: false,
    decide: false,
    on_decision: false,
    instances: [],
    state: "enabled",
  } as unknown as Channel;
  const text = "kind: Channel\nname: ops\ntype: slack\nurl_from: { env: URL }\n";
  const channels = [channel];
  const secretOf = (url: string) => plan(text, { channels }, { URL: url });
  assert.deepEqual(textOf(secretOf("https://HOOKS.slack.com/other")), []);
  assert.deepEqual(textOf(secretOf("https://hooks.example.com/a")), [
    "~ Channel ops",
    "target: https://hooks.slack.com/... -> https://hooks.example.com/...",
  ]);
  const { steps, notes } = plan(text, { channels });
  assert.deepEqual([steps, notes.length], [[], 1]);
  assert.equal(plan(text, {}).steps[0]?.missing, "the variable URL");
});
