/** Statistics of resolved requests, and the calls of an agent's session. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentSession, StatisticsAnswer } from "@countersign/review-api";
import { STATISTICS_SCANNED_MAX } from "../src/operations/history/showStatistics.ts";
import { assertRefused } from "./support/envelope.ts";
import { consumeCall, reportCall } from "./support/extensions.ts";
import { copyDecided } from "./support/history.ts";
import { enforce } from "./support/policies.ts";
import { cancel, end, type Scene, startScene } from "./support/scene.ts";
import type { Answer } from "./support/test-provider.ts";

function ask({ server, reviewer }: Scene, query = ""): Promise<Answer<StatisticsAnswer>> {
  return server.call("GET", `/review/v1/statistics${query}`, { token: reviewer });
}

function sessionOf({ server, reviewer }: Scene, id: string): Promise<Answer<AgentSession>> {
  return server.call("GET", `/review/v1/requests/${id}/session`, { token: reviewer });
}

test("[ours.statistics.counts] statistics count by status, decider, tool, instance, reviewer and rule", async (t) => {
  const scene = await startScene(t);
  const { server, clock, instance, reviewer } = scene;
  await enforce(
    server,
    "version: 1\nrules:\n  - id: look-ups\n    match: { tool: orders.get }\n    then: approve\n",
  );
  const empty = (await ask(scene)).json;
  assert.deepEqual([empty.total, empty.complete, empty.expiry_rate], [0, true, null]);
  assert.equal(empty.buckets.length, 30);
  const start = clock.now();
  for (const [ms, verdict] of [
    [1_999, "approve"],
    [2_000, "deny"],
    [7_001, "approve"],
  ] as const) {
    const request = await server.submit(instance.token, { tool: "deploy" });
    clock.advance(ms);
    await server.decide(reviewer, request.id, verdict);
  }
  await server.submit(instance.token, { tool: "orders.get" });
  await cancel(server, instance.token, (await server.submit(instance.token, { tool: "other" })).id);
  await end(scene, await server.submit(instance.token, { tool: "deploy" }), "expired");
  const since = new Date(start).toISOString();
  const { json } = await ask(scene, `?since=${since}&bucket=hour`);
  assert.deepEqual(json.by_status, { approved: 3, denied: 1, expired: 1, cancelled: 1 });
  assert.equal(json.total, 6);
  assert.deepEqual([json.looked_at, json.complete], [6, true]);
  const deciders = { reviewer: 3, policy: 1, grant: 0, freeze: 0, instance: 1, system: 1 };
  assert.deepEqual(json.by_decider, deciders);
  const people = { decisions: 3, p50_ms: 2_000, p90_ms: 7_001, approvals_under_2_s: 1 };
  assert.deepEqual([json.people, json.expiry_rate], [people, 0.25]);
  const [deploy] = json.by_tool.top;
  assert.deepEqual(
    [deploy?.tool, deploy?.total, deploy?.approved, deploy?.expired, json.by_tool.count],
    ["deploy", 4, 2, 1, 3],
  );
  assert.equal(json.by_instance.top[0]?.instance.id, instance.id);
  assert.deepEqual(json.by_rule.top, [
    { rule: "look-ups", approved: 1, denied: 0, expired: 0, cancelled: 0, total: 1 },
  ]);
  assert.deepEqual(
    json.by_reviewer.top.map((row) => [row.reviewer.name, row.total]),
    [["reviewer", 3]],
  );
  assert.deepEqual(json.by_server, { top: [], count: 0 });
  const summed = json.buckets.reduce((sum, bucket) => sum + bucket.approved + bucket.denied, 0);
  assert.deepEqual([json.buckets[0]?.from, summed], [since, 4]);
  const before = await ask(scene, `?until=${since}`);
  assert.equal(before.json.total, 0);
});

test("[ours.statistics.counts] a range with no length or too many buckets returns 400 with its name", async (t) => {
  const scene = await startScene(t);
  for (const [query, param] of [
    ["since=2026-01-02T00:00:00Z&until=2026-01-02T00:00:00Z", "until"],
    ["since=2999-01-02T00:00:00Z", "since"],
    ["since=2020-01-01T00:00:00Z&until=2021-01-01T00:00:00Z&bucket=hour", "bucket"],
    ["bucket=week", "bucket"],
    ["since=yesterday", "since"],
    ["zone=UTC", "zone"],
  ] as const) {
    assertRefused(await ask(scene, `?${query}`), 400, "invalid_request", param);
  }
});

test("[ours.statistics.bounded] statistics scan a limited number of requests and say so", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const one = await end(scene, await server.submit(instance.token), "denied");
  await copyDecided(scene, one.id, STATISTICS_SCANNED_MAX + 1);
  scene.clock.advance(STATISTICS_SCANNED_MAX + 10);
  const { json } = await ask(scene);
  assert.deepEqual([json.complete, json.looked_at], [false, STATISTICS_SCANNED_MAX]);
  assert.equal(json.by_status.denied, STATISTICS_SCANNED_MAX);
  assert.ok(json.looked_back_to !== null);
});

test("[ours.sessions.calls] the calls of a session are in order, with decisions and outcomes", async (t) => {
  const scene = await startScene(t, { settings: { extensions: "consume,outcome" } });
  const { server, clock, instance, reviewer } = scene;
  const other = await server.provision(instance.provisioner, "other");
  const submit = async (token: string, session: unknown, tool = "deploy") => {
    const request = await server.submit(token, { tool, context: { session_id: session } });
    clock.advance(1_000);
    return request.id;
  };
  const first = await submit(instance.token, "s-1", "first");
  await submit(instance.token, "s-2");
  await submit(other.credential.token, "s-1");
  const second = await submit(instance.token, "s-1", "second");
  const third = await submit(instance.token, "s-1", "third");
  await server.decide(reviewer, first, "approve", { valid_for: "5m" });
  await server.decide(reviewer, second, "deny");
  await consumeCall(scene, first, "once");
  await reportCall(scene, first, { status: "failed" });
  const now = new Date(clock.now()).toISOString();
  const [used, unused] = (await sessionOf(scene, third)).json.calls;
  assert.deepEqual(
    [used?.consumed_at, used?.outcome, unused?.consumed_at],
    [now, { status: "failed", reported_at: now }, undefined],
  );
  for (const id of [first, second, third]) {
    const { json } = await sessionOf(scene, id);
    assert.deepEqual(
      json.calls.map((call) => [call.id, call.tool, call.status, call.decider]),
      [
        [first, "first", "approved", "reviewer"],
        [second, "second", "denied", "reviewer"],
        [third, "third", "pending", undefined],
      ],
    );
    assert.deepEqual(
      [json.session, json.complete_before, json.complete_after, json.instance.id],
      ["s-1", true, true, instance.id],
    );
  }
  const lonely = await submit(instance.token, 7);
  const { json } = await sessionOf(scene, lonely);
  assert.deepEqual([json.calls.map(({ id }) => id), json.session], [[lonely], undefined]);
});

test("[ours.sessions.calls] the search for calls of a session is bounded and says so", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const context = { session_id: "s" };
  const old = await end(scene, await server.submit(instance.token, { context }), "denied");
  scene.clock.advance(1_000);
  const between = await end(scene, await server.submit(instance.token), "denied");
  await copyDecided(scene, between.id, 1_001);
  scene.clock.advance(1_000);
  const newest = await server.submit(instance.token, { context });
  const { json } = await sessionOf(scene, newest.id);
  assert.deepEqual(
    [json.calls.map(({ id }) => id), json.complete_before, json.complete_after],
    [[newest.id], false, true],
  );
  const back = (await sessionOf(scene, old.id)).json;
  assert.deepEqual([back.calls.length, back.complete_after], [1, false]);
});
