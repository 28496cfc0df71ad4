import assert from "node:assert/strict";
import { test } from "node:test";
import {
  DECIDER_KINDS,
  InsightCount,
  isOpen,
  matchesFilter,
  type RequestFilter,
  type ResolvedOutline,
} from "./request-filter.ts";

const ALL: RequestFilter = {
  tool: undefined,
  toolPrefix: undefined,
  instanceId: undefined,
  decidedBy: undefined,
  statuses: undefined,
  server: undefined,
  since: undefined,
  until: undefined,
};

const ENDED: ResolvedOutline = {
  id: "r",
  instanceId: "i",
  tool: '"deploy_app"',
  server: '"prod"',
  createdAt: 0,
  status: "approved",
  decidedBy: "reviewer:ana",
  at: 1_000,
  bytes: 10,
};

function narrows(filter: Partial<RequestFilter>, outline: Partial<ResolvedOutline> = {}): boolean {
  return !matchesFilter({ ...ALL, ...filter }, { ...ENDED, ...outline });
}

test("[ours.history.filters] an empty filter excludes nothing, and this check ignores the times", () => {
  assert.equal(narrows({}), false);
  assert.equal(narrows({ since: 5_000, until: 6_000 }), false);
});

test("[ours.history.filters] each filter lets through what it names", () => {
  for (const filter of [
    { instanceId: "i" },
    { statuses: ["denied", "approved"] },
    { decidedBy: "reviewer:ana" },
    { decidedBy: "reviewer" },
    { tool: "deploy_app" },
    { toolPrefix: "deploy" },
    { toolPrefix: "" },
    { tool: "deploy_app", toolPrefix: "deploy_" },
    { server: "prod" },
  ] as const) {
    assert.equal(narrows(filter), false, JSON.stringify(filter));
  }
});

test("[ours.history.filters] each filter excludes other values, for any values of the other filters", () => {
  const wide = { instanceId: "i", statuses: ["approved"], decidedBy: "reviewer", toolPrefix: "d" };
  for (const filter of [
    { instanceId: "j" },
    { instanceId: "" },
    { statuses: ["denied", "expired"] },
    { statuses: [] },
    { decidedBy: "reviewer:ben" },
    { decidedBy: "policy" },
    { decidedBy: "" },
    { tool: "deploy" },
    { tool: "deploy_app2" },
    { toolPrefix: "app" },
    { server: "pro" },
    { server: "" },
    { tool: "deploy_app", toolPrefix: "app" },
  ] as const) {
    assert.equal(narrows({ ...(wide as Partial<RequestFilter>), ...filter }), true);
  }
});

test("[ours.history.filters] a tool is compared by its name, not by its JSON spelling", () => {
  const spelled = { tool: '"d\\u0065ploy\\"x"' };
  assert.equal(narrows({ tool: 'deploy"x' }, spelled), false);
  assert.equal(narrows({ toolPrefix: "depl" }, spelled), false);
  assert.equal(narrows({ tool: "d\\u0065ploy" }, spelled), true);
});

test("[ours.history.filters] a server lets through calls that name it, and none that name no server", () => {
  assert.equal(narrows({ server: 'a"b' }, { server: '"a\\"b"' }), false);
  assert.equal(narrows({ server: "prod" }, { server: null }), true);
  assert.equal(narrows({ server: "null" }, { server: null }), true);
});

test("[ours.history.filters] a filter accepts every kind of decider", () => {
  assert.deepEqual(DECIDER_KINDS, ["reviewer", "policy", "grant", "freeze", "instance", "system"]);
  for (const kind of DECIDER_KINDS) {
    const decidedBy = `${kind}:x` as ResolvedOutline["decidedBy"];
    assert.equal(narrows({ decidedBy: kind }, { decidedBy }), false);
  }
});

test("[ours.history.filters] a filter is open when it names only times", () => {
  assert.equal(isOpen({ ...ALL, since: 1, until: 2 }), true);
  for (const filter of [
    { tool: "" },
    { toolPrefix: "" },
    { server: "" },
    { instanceId: "" },
    { decidedBy: "" },
    { statuses: [] },
  ]) {
    assert.equal(isOpen({ ...ALL, ...filter }), false, JSON.stringify(filter));
  }
});

function insightsOf(...ended: readonly Partial<ResolvedOutline>[]) {
  const count = new InsightCount("ana");
  for (const each of ended) count.add({ ...ENDED, ...each });
  return count.result();
}

const took = (at: number, decidedBy: ResolvedOutline["decidedBy"] = "reviewer:ben") => ({
  createdAt: 10_000,
  at: 10_000 + at,
  decidedBy,
});

test("[ours.history.insights] nothing counted has no median and no share", () => {
  const none = { decisions: 0, medianMs: null, underTwoSeconds: 0 };
  assert.deepEqual(insightsOf(), {
    matching: 0,
    byStatus: { approved: 0, denied: 0, expired: 0, cancelled: 0 },
    shareApproved: null,
    byPeople: none,
    own: none,
  });
});

test("[ours.history.insights] the share of approvals is that among approvals and denials", () => {
  const { matching, byStatus, shareApproved } = insightsOf(
    ...(["approved", "approved", "approved", "denied", "expired", "cancelled"] as const).map(
      (status) => ({ status }),
    ),
  );
  assert.equal(matching, 6);
  assert.deepEqual(byStatus, { approved: 3, denied: 1, expired: 1, cancelled: 1 });
  assert.equal(shareApproved, 0.75);
  assert.equal(insightsOf({ status: "expired" }).shareApproved, null);
  assert.equal(insightsOf({ status: "denied" }).shareApproved, 0);
  assert.equal(insightsOf({ status: "denied" }, { status: "approved" }).shareApproved, 0.5);
});

test("[ours.history.insights] times are those of people, and one's own those of one's own decisions", () => {
  const { matching, byPeople, own } = insightsOf(
    took(4_000),
    took(1_000, "reviewer:ana"),
    took(3, "policy:p"),
    took(9, "grant:ana"),
  );
  assert.equal(matching, 4);
  assert.deepEqual(byPeople, { decisions: 2, medianMs: 2_500, underTwoSeconds: 1 });
  assert.deepEqual(own, { decisions: 1, medianMs: 1_000, underTwoSeconds: 1 });
});

test("[ours.history.insights] the median is the middle by size, of an even number the mean of both, in whole ms", () => {
  const median = (...times: number[]) =>
    insightsOf(...times.map((time) => took(time))).byPeople.medianMs;
  assert.equal(median(7), 7);
  assert.equal(median(900, 10_000, 1_000), 1_000);
  assert.equal(median(4, 30, 1, 200), 17);
  assert.equal(median(4, 5), 5);
  assert.equal(median(1, 2, 3, 4, 1_000), 3);
});

test("[ours.history.insights] two seconds are not under two seconds", () => {
  const times = [1_999, 2_000, 0].map((time) => took(time));
  assert.equal(insightsOf(...times).byPeople.underTwoSeconds, 2);
});
