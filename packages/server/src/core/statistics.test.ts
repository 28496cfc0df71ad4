import assert from "node:assert/strict";
import { test } from "node:test";
import type { ResolvedOutline } from "./request-filter.ts";
import { nearestRank, RANKED_MAX, StatisticsCount } from "./statistics.ts";

const RANGE = { since: 1_000, until: 4_500, bucketMs: 1_000 };

const ENDED: ResolvedOutline = {
  id: "r",
  instanceId: "i",
  tool: '"deploy"',
  server: null,
  createdAt: 0,
  status: "approved",
  decidedBy: "reviewer:ana",
  at: 1_000,
  bytes: 10,
};

function count(...outlines: readonly Partial<ResolvedOutline>[]) {
  const counting = new StatisticsCount(RANGE);
  for (const outline of outlines) counting.add({ ...ENDED, ...outline });
  return counting.result();
}

test("[ours.statistics.counts] buckets start at the start of the range, without gaps", () => {
  const { buckets, total } = count({ at: 1_000 }, { at: 1_999 }, { at: 4_499, status: "denied" });
  assert.equal(total, 3);
  assert.deepEqual(
    buckets.map(({ from, counts }) => [from, counts.approved, counts.denied]),
    [
      [1_000, 2, 0],
      [2_000, 0, 0],
      [3_000, 0, 0],
      [4_000, 0, 1],
    ],
  );
});

test("[ours.statistics.counts] only decisions of reviewers count as times and as too fast", () => {
  const { people, byDecider } = count(
    { createdAt: 0, at: 1_999 },
    { createdAt: 0, at: 2_000 },
    { createdAt: 0, at: 1_500, status: "denied" },
    { createdAt: 1_000, at: 1_000, decidedBy: "policy:fast" },
    { createdAt: 0, at: 4_000, decidedBy: "system:deadline", status: "expired" },
  );
  assert.deepEqual(people, { decisions: 3, p50Ms: 1_999, p90Ms: 2_000, tooFastApprovals: 1 });
  const nothing = { grant: 0, freeze: 0, instance: 0 };
  assert.deepEqual(byDecider, { reviewer: 3, policy: 1, system: 1, ...nothing });
});

test("[ours.statistics.counts] the expiry rate is a share of what waited for people", () => {
  const expired = { decidedBy: "system:deadline", status: "expired" } as const;
  assert.equal(count({}, {}, {}, expired, { decidedBy: "policy:x" }).expiryRate, 0.25);
  assert.equal(count({ decidedBy: "policy:x" }).expiryRate, null);
});

test("[ours.statistics.counts] the nearest rank is a value that occurred, and null without any", () => {
  assert.equal(nearestRank([], 0.5), null);
  assert.equal(nearestRank([7], 0.9), 7);
  assert.equal(nearestRank([1, 2, 3, 4], 0.5), 2);
  assert.equal(nearestRank([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.9), 9);
});

test("[ours.statistics.counts] rankings have the most requests first, ties by key, and a limit", () => {
  const { rankings } = count(
    { tool: '"b"', server: '"s"', decidedBy: "policy:floor/x" },
    { tool: '"a"' },
    { tool: '"c"' },
    { tool: '"c"', status: "denied" },
  );
  assert.deepEqual(
    rankings.tool.top.map(({ key }) => key),
    ['"c"', '"a"', '"b"'],
  );
  assert.deepEqual(
    [rankings.server, rankings.rule, rankings.reviewer].map(({ top }) => top[0]?.key),
    ['"s"', "floor/x", "ana"],
  );
  const many = Array.from({ length: RANKED_MAX + 5 }, (_, i) => ({ tool: `"${i}"` }));
  const { tool } = count(...many).rankings;
  assert.deepEqual([tool.top.length, tool.keys], [RANKED_MAX, RANKED_MAX + 5]);
});
