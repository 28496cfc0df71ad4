import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { uuidV7 } from "@countersign/protocol";
import { countCalls } from "../src/storage/sql/history/call-history.ts";
import { makeGrant } from "./support/grants.ts";
import {
  type PolicyScene,
  projectIdOf,
  publish,
  startPolicyScene,
  storePast,
} from "./support/publishing.ts";
import { restart, startScene, submitBody } from "./support/scene.ts";
import { hideTables } from "./support/store-faults.ts";
import { SUBMISSION } from "./support/test-provider.ts";

const HOUR_MS = 3_600_000;

function policyWhen(when: string, tool = "pay*"): string {
  return `version: 1
rules:
  - { id: budget, match: { tool: "${tool}" }, when: '${when}', then: approve }
`;
}

async function enforce({ server, editor }: PolicyScene, when: string, tool?: string) {
  const answer = await publish(server, editor, policyWhen(when, tool), 0);
  assert.equal(answer.status, 201, answer.text);
}

test("[ours.policy.budget] calls are approved until the budget is used up, and again when they lie far enough back", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, clock, instance } = scene;
  await enforce(scene, 'history.approved("24h") < 2');
  const pay = async () => (await server.submit(instance.token, { tool: "pay" })).status;
  assert.equal(await pay(), "approved");
  clock.advance(HOUR_MS);
  assert.deepEqual([await pay(), await pay()], ["approved", "pending"]);
  clock.advance(23 * HOUR_MS - 1);
  assert.equal(await pay(), "pending");
  clock.advance(1);
  assert.deepEqual([await pay(), await pay()], ["approved", "pending"]);
});

test("[ours.policy.budget] each instance and each tool has its own budget, unless all calls of the instance are asked for", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, instance } = scene;
  await enforce(scene, 'history.approved("1h") < 1 && history.instance_calls("1h") < 4');
  const other = await server.instance();
  const long = `pay${"y".repeat(300)}`;
  const said = [];
  for (const [token, tool] of [
    [instance.token, "pay"],
    [instance.token, "pay"],
    [instance.token, "pay.it"],
    [other.token, "pay"],
    [instance.token, long],
    [instance.token, "pay.more"],
    [other.token, `${long}a`],
    [other.token, `${long}b`],
    [other.token, `${long}b`],
  ] as const) {
    said.push((await server.submit(token, { tool })).status);
  }
  const [a, p] = ["approved", "pending"];
  assert.deepEqual(said, [a, p, a, a, a, p, a, a, p]);
});

test("[ours.policy.budget] decisions of reviewers and grants count, each under its outcome", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, instance, reviewer } = scene;
  const when = 'history.denied("1h") == 1 && history.approved("1h") == 2';
  await enforce(scene, `${when} && history.calls("1h") == 5`);
  const pay = () => server.submit(instance.token, { tool: "pay" });
  const [one, two] = [await pay(), await pay()];
  await pay();
  await makeGrant(server, reviewer, { instance_id: instance.id, tool: "pay", calls: 1 });
  assert.equal((await pay()).status, "approved", "by the grant");
  assert.equal((await pay()).status, "pending", "nothing is denied yet");
  await server.decide(reviewer, one.id, "deny");
  await server.decide(reviewer, two.id, "approve");
  assert.equal((await pay()).status, "approved", "after five calls");
  assert.equal((await pay()).status, "pending", "after six");
});

test("[ours.policy.budget] a replay is not counted and returns the original response", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, instance } = scene;
  await enforce(scene, 'history.calls("1h") < 2');
  const body = { ...SUBMISSION, tool: "pay" };
  const key = randomUUID();
  const first = await submitBody(server, instance.token, body, key);
  for (let again = 0; again < 3; again++) {
    const replayed = await submitBody(server, instance.token, body, key);
    assert.deepEqual([replayed.status, replayed.text], [200, first.text]);
  }
  assert.equal((await server.submit(instance.token, { tool: "pay" })).status, "approved");
  assert.equal((await submitBody(server, instance.token, body, key)).text, first.text);
  assert.equal((await server.submit(instance.token, { tool: "pay" })).status, "pending");
});

test("[ours.policy.budget.strict] of calls at one time no more are approved than the budget has left", async (t) => {
  const scene = await startPolicyScene(t);
  const { server } = scene;
  await enforce(scene, 'history.approved("1h") < 3');
  for (let round = 0; round < 3; round++) {
    const { token } = await server.instance();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => server.submit(token, { tool: "pay" })),
    );
    assert.equal(answers.filter(({ status }) => status === "approved").length, 3);
  }
});

test("[ours.policy.budget.fails] when calls cannot be counted nothing is approved", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, instance } = scene;
  await enforce(scene, 'history.calls("1h") < 5');
  const restore = await hideTables(server, "request");
  const call = { token: instance.token, key: "k", body: { ...SUBMISSION, tool: "pay" } };
  assert.ok((await server.call("POST", "/v1/requests", call)).status >= 500);
  await restore();
  assert.equal((await server.submit(instance.token, { tool: "pay" })).status, "approved");
});

test("[ours.policy.budget.fails] a count above the limit is unknown, and the request waits for a reviewer", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, instance } = scene;
  await enforce(scene, 'history.calls("7d") < 1000000 || history.calls("1m") == 0');
  await storePast(server, instance.id, 9_999, () => ({ tool: '"pay"' }));
  assert.equal((await server.submit(instance.token, { tool: "pay" })).status, "approved");
  assert.equal((await server.submit(instance.token, { tool: "pay" })).status, "approved");
  const overBudget = await server.submit(instance.token, { tool: "pay" });
  assert.equal(overBudget.status, "pending");
  scene.clock.advance(60_000);
  assert.equal((await server.submit(instance.token, { tool: "pay" })).status, "approved");
});

test("[ours.policy.budget.checked] a time span above the retention is rejected; after a shorter retention, a reviewer decides", async (t) => {
  const scene = await startScene(t, { settings: { retention: "400h" } });
  const editor = await scene.server.token({ kind: "reviewer", name: "Ed", role: "editor" });
  const long = policyWhen('history.calls("10d") == 0');
  const accepted = await publish(scene.server, editor, long, 0);
  assert.equal(accepted.status, 201, accepted.text);
  const tool = { tool: "pay" };
  assert.equal((await scene.server.submit(scene.instance.token, tool)).status, "approved");
  const { server, instance } = await restart(t, scene, { retention: "200h" });
  const asked = await submitBody(server, instance.token, { ...SUBMISSION, ...tool }, "other");
  assert.equal(asked.json.status, "pending");
  const refused = await publish(server, editor, `${long}# again\n`, 1);
  assert.deepEqual([refused.status, refused.json.error.code], [422, "policy_invalid"]);
  assert.match(refused.json.error.message, /this server keeps calls for 200h/);
});

test("[ours.policy.budget] the counts equal those of a scan of every call", async (t) => {
  const { server, instance, clock } = await startPolicyScene(t);
  const { store } = server.provider.context;
  const projectId = await projectIdOf(server);
  const tools = ["a", "b", "💳".repeat(150), `${"💳".repeat(199)}x`, `${"💳".repeat(199)}y`];
  const servers = [null, "a", "b", `${"💳".repeat(199)}x`, `${"💳".repeat(199)}y`];
  const texts = servers.map((server) => server && JSON.stringify(server));
  const statuses = ["approved", "denied", "expired", "cancelled", "pending"] as const;
  const at = clock.now();
  const past = await storePast(server, instance.id, 300, (i) => {
    const createdAt = at - ((i * 7_919) % 600) * 1_000;
    const status = statuses[(i * 31) % 5] ?? "pending";
    const id = uuidV7(createdAt, server.provider.context.random.bytes(10));
    const ofServer = texts[(i * 11) % 7] ?? null;
    const made = { id, createdAt, tool: JSON.stringify(tools[(i * 13) % 5]), server: ofServer };
    if (status === "pending") return { ...made, status, decision: null };
    const decidedAt = createdAt + (i % 3) * 60_000;
    const expiresAt = status === "approved" ? decidedAt + 1 : null;
    const decidedBy = "policy:x" as const;
    return { ...made, status, decision: { status, decidedAt, expiresAt, decidedBy, note: null } };
  });
  const spans = [0, 30, 299, 300, 601].flatMap((seconds) =>
    ([undefined, "approved", "denied"] as const).map((status) => {
      return { since: at - seconds * 1_000, status };
    }),
  );
  for (const asOf of [undefined, at - 100_000]) {
    const named = tools.flatMap((tool) =>
      texts.map((ofServer) => ({ tool: JSON.stringify(tool), server: ofServer })),
    );
    for (const tool of [undefined, ...named, { tool: '"none"', server: null }]) {
      const key = { projectId, instanceId: instance.id };
      const query = { tool, spans, callsMax: 10_000, asOf };
      const wanted = spans.map(({ since, status }) => {
        const fits = past.filter((each) => {
          if (each.createdAt <= since || each.createdAt >= (asOf ?? Number.MAX_VALUE)) return false;
          if (tool !== undefined && each.tool !== tool.tool) return false;
          if (tool !== undefined && each.server !== tool.server) return false;
          const decidedAt = each.decision?.decidedAt ?? Number.MAX_VALUE;
          if (asOf !== undefined && decidedAt > asOf) return status === undefined;
          return status === undefined || each.status === status;
        });
        return fits.length;
      });
      assert.deepEqual(await countCalls(store, key, query), wanted);
      const few = await countCalls(store, key, { ...query, callsMax: 20 });
      for (const [index, count] of few.entries()) {
        const all = wanted[index - (index % 3)] ?? 0;
        if (count === null) assert.ok(all > 20);
        else assert.equal(count, wanted[index]);
      }
    }
  }
});
