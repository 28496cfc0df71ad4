import assert from "node:assert/strict";
import { test } from "node:test";
import { touchActiveState } from "../src/storage/sql/active-state-stamp.ts";
import { enforce, FLOOR, judgementOf, policyOf } from "./support/policies.ts";
import { auditOf, startScene, submitBody } from "./support/scene.ts";
import { SUBMISSION, type TestProvider } from "./support/test-provider.ts";
import { outbox, provisionWithReceiver, startWebhookScene } from "./support/webhook-scene.ts";

const APPROVE_READS = "{ id: reads, match: { tool: read* }, then: approve, valid_for: 2m }";
const DENY_DROPS = "{ id: drops, match: { tool: db.drop }, then: deny, note: Archive instead. }";
const APPROVE_ALL = '{ id: all, match: { tool: "*" }, then: approve }';
const DENY_ALL = '{ id: none, match: { tool: "*" }, then: deny }';

test("[request.create.decided] [ours.policy.decides] what policy approves is answered at once, for as long as the rule says", async (t) => {
  const { server, clock, instance } = await startScene(t);
  await enforce(server, policyOf(APPROVE_READS, DENY_DROPS));

  const request = await server.submit(instance.token, { tool: "read_file" });

  assert.equal(request.status, "approved");
  assert.equal(request.decision?.expires_at, new Date(clock.now() + 120_000).toISOString());
  assert.equal(request.decision?.decided_at, request.created_at);
  assert.deepEqual(await server.read(instance.token, request.id), request);
  const [entry, ...others] = await auditOf({ server }, `request:${request.id}`);
  assert.deepEqual([entry?.kind, entry?.actor], ["request.resolved", "policy:reads"]);
  const { opened_by: openedBy, because, status } = entry?.detail ?? {};
  assert.deepEqual([openedBy, because, status], [`instance:${instance.id}`, "reads", "approved"]);
  assert.deepEqual(others, []);
});

test("[request.create.decided] [ours.policy.decides] what policy denies is denied at once, with the rule's note for the agent", async (t) => {
  const { server, instance } = await startScene(t);
  await enforce(server, policyOf(APPROVE_READS, DENY_DROPS));
  const request = await server.submit(instance.token, { tool: "db.drop" });
  assert.equal(request.status, "denied");
  assert.equal(request.decision?.note, "Archive instead.");
});

test("[ours.policy.default-asks] without a policy, and where no rule matches, people are asked", async (t) => {
  const { server, instance } = await startScene(t);
  const before = await server.submit(instance.token, { tool: "read_file" });
  assert.equal(before.status, "pending");
  assert.equal((await judgementOf(server, before.id)).because, "no-policy");
  await enforce(server, policyOf(APPROVE_READS));
  const after = await server.submit(instance.token, { tool: "write_file" });
  assert.equal(after.status, "pending");
  assert.equal((await judgementOf(server, after.id)).because, "no-match");
});

test("[ours.policy.stored] a request keeps which version judged it, which rules fired and why", async (t) => {
  const { server, instance } = await startScene(t);
  await enforce(server, policyOf(APPROVE_READS));
  const rule = `{ id: look, match: { tool: deploy }, when: "args.env == 'prod'", then: ask,
      note: Production. }`;
  const number = await enforce(server, policyOf(rule));
  const { id } = await server.submit(instance.token);
  const { verb, because, fired, errors, project, floor, note } = await judgementOf(server, id);
  assert.deepEqual(
    { verb, because, fired, errors, floor, note },
    {
      verb: "ask",
      because: "look",
      fired: ["look"],
      errors: [],
      floor: null,
      note: "Production.",
    },
  );
  assert.equal(project?.number, number);
  const [opened] = await auditOf({ server }, `request:${id}`);
  assert.equal(opened?.detail.policy_sha256, project?.sha256);
});

test("[ours.policy.publish.pending] another version judges the next call and leaves what is pending", async (t) => {
  const { server, instance } = await startScene(t);
  const pending = await server.submit(instance.token, { tool: "read_file" });
  await enforce(server, policyOf(APPROVE_READS));
  assert.equal((await server.read(instance.token, pending.id)).status, "pending");
  const next = await server.submit(instance.token, { tool: "read_file" });
  assert.equal(next.status, "approved");
  await enforce(server, policyOf());
  const last = await server.submit(instance.token, { tool: "read_file" });
  assert.equal(last.status, "pending");
});

test("[ours.policy.decides] a rule shortens the window and never lengthens it", async (t) => {
  const { server, clock, instance } = await startScene(t);
  const rule = "{ id: soon, match: { tool: deploy }, then: ask, ask: { within: 30m } }";
  await enforce(server, policyOf(rule));
  for (const [timeout, ms] of [
    ["1h", 1_800_000],
    ["10m", 600_000],
  ] as const) {
    const request = await server.submit(instance.token, { timeout });
    assert.equal(request.deadline_at, new Date(clock.now() + ms).toISOString());
  }
});

test("[ours.policy.inexact] a number is approved by a bound when its nearest double is below it too", async (t) => {
  const { server, instance } = await startScene(t);
  const rule = "{ id: small, match: { tool: pay }, when: args.amount < 100, then: approve }";
  await enforce(server, policyOf(rule));
  const submit = async (amount: string) => {
    const body = `{"tool":"pay","arguments":{"amount":${amount}},"timeout":"1h"}`;
    const { status, json, text } = await submitBody(server, instance.token, body);
    assert.equal(status, 201, text);
    return json.status;
  };
  assert.equal(await submit("99.5"), "approved");
  assert.equal(await submit("0.1000000000000000055511151231257827021"), "approved");
  assert.equal(await submit("99.99999999999999999999"), "pending");
  assert.equal(await submit("100000000000000000000"), "pending");
});

test("[ours.policy.errors] a rule that fails asks, and says so with the request", async (t) => {
  const { server, instance } = await startScene(t);
  const rule = "{ id: small, match: { tool: pay }, when: args.amount < 5, then: approve }";
  await enforce(server, policyOf(rule));
  const { id, status } = await server.submit(instance.token, { tool: "pay", arguments: {} });
  assert.equal(status, "pending");
  const { because, errors } = await judgementOf(server, id);
  assert.equal(because, "error");
  assert.equal(errors[0]?.rule, "small");
});

test("[ours.policy.floor] no project weakens a deny or ask rule of the baseline policy", async (t) => {
  const { server, instance } = await startScene(t);
  const other = await server.instance("elsewhere");
  await enforce(server, policyOf(APPROVE_ALL));
  await enforce(
    server,
    policyOf(
      "{ id: no-drops, match: { tool: db.drop }, then: deny }",
      "{ id: money, match: { tool: pay }, then: ask, ask: { quorum: 2 } }",
    ),
    FLOOR,
  );
  const submit = (token: string, tool: string) => server.submit(token, { tool });
  assert.equal((await submit(instance.token, "read")).status, "approved");
  const denied = await submit(instance.token, "db.drop");
  assert.equal(denied.status, "denied");
  const [entry] = await auditOf({ server }, `request:${denied.id}`);
  assert.equal(entry?.actor, "policy:floor/no-drops");
  const pending = await submit(instance.token, "pay");
  assert.equal(pending.status, "pending");
  assert.equal((await judgementOf(server, pending.id)).requirement?.quorum, 2);
  assert.equal((await submit(other.token, "db.drop")).status, "denied");
  assert.equal((await submit(other.token, "read")).status, "pending");
});

test("[ours.policy.floor] a baseline policy's quorum of two of a group is not lowered to one by a project's rule", async (t) => {
  const { server, instance } = await startScene(t);
  const token = (name: string, group: string) =>
    server.token({ kind: "reviewer", name, groups: [group] });
  const [ana, ben, ivy] = [
    await token("ana", "dba"),
    await token("ben", "dba"),
    await token("ivy", "interns"),
  ];
  await enforce(server, policyOf("{ id: ours, then: ask, ask: { from: group:interns } }"));
  const two = "{ id: two, then: ask, ask: { from: group:dba, quorum: 2 } }";
  await enforce(server, policyOf(two), FLOOR);
  const { id } = await server.submit(instance.token);
  const statuses: string[] = [];
  for (const person of [ivy, ana, ben]) {
    const { json } = await server.decide(person, id, "approve");
    statuses.push(json.status);
  }
  assert.deepEqual(statuses, ["pending", "pending", "approved"]);
});

test("[ours.policy.scope] a project's policy does not affect another project", async (t) => {
  const { server } = await startScene(t);
  const other = await server.instance("elsewhere");
  await enforce(server, policyOf(APPROVE_ALL));
  assert.equal((await server.submit(other.token)).status, "pending");
});

test("[ours.policy.groups] rules distinguish instances by their groups", async (t) => {
  const { server, instance } = await startScene(t);
  const rule = "{ id: trusted, match: { instance: { group: trusted } }, then: approve }";
  await enforce(server, policyOf(rule));
  assert.equal((await server.submit(instance.token)).status, "pending");
  await giveGroups(server, instance.id, ["trusted"]);
  assert.equal((await server.submit(instance.token)).status, "approved");
});

test("[ours.policy.errors] a version that this program cannot read asks for everything", async (t) => {
  const { server, instance } = await startScene(t);
  await enforce(server, "version: 2\nrules: []\n");
  const { id, status } = await server.submit(instance.token);
  assert.equal(status, "pending");
  const { because, errors, project } = await judgementOf(server, id);
  assert.equal(because, "error");
  assert.equal(errors.length, 1);
  assert.equal(project?.number, 1);
});

test("[ours.policy.floor] an unreadable project policy takes nothing from the baseline policy", async (t) => {
  const { server, instance } = await startScene(t);
  await enforce(server, "version: 2\nrules: []\n");
  await enforce(
    server,
    policyOf(
      "{ id: no-drops, match: { tool: db.drop }, then: deny }",
      "{ id: money, match: { tool: pay }, then: ask, ask: { quorum: 2 } }",
    ),
    FLOOR,
  );
  const denied = await server.submit(instance.token, { tool: "db.drop" });
  assert.equal(denied.status, "denied");
  assert.equal((await judgementOf(server, denied.id)).errors.length, 1);
  const pending = await server.submit(instance.token, { tool: "pay" });
  const { because, requirement, errors } = await judgementOf(server, pending.id);
  assert.deepEqual([because, requirement?.quorum, errors.length], ["error", 2, 1]);
});

test("[ours.policy.errors] beside an unreadable baseline policy a project denies and asks, and approves nothing", async (t) => {
  const { server, instance } = await startScene(t);
  await enforce(server, "version: 2\nrules: []\n", FLOOR);
  await enforce(server, policyOf(APPROVE_READS, DENY_DROPS));
  const statusOf = async (tool: string) => (await server.submit(instance.token, { tool })).status;
  assert.equal(await statusOf("db.drop"), "denied");
  assert.equal(await statusOf("read_file"), "pending");
  assert.equal(await statusOf("write_file"), "pending");
});
test("[ours.policy.decides] the same key returns the same decision after a policy change", async (t) => {
  const { server, instance } = await startScene(t);
  await enforce(server, policyOf(APPROVE_ALL));
  const key = server.freshKey();
  const first = await submitBody(server, instance.token, SUBMISSION, key);
  await enforce(server, policyOf(DENY_ALL));
  const second = await submitBody(server, instance.token, SUBMISSION, key);
  assert.deepEqual([first.status, second.status], [201, 200]);
  assert.deepEqual(second.json, first.json);
  const changed = { ...SUBMISSION, arguments: { env: "test" } };
  assert.equal((await submitBody(server, instance.token, changed, key)).status, 409);
});

test("[ours.policy.decides] a decision by policy is notified like any other", async (t) => {
  const scene = await startWebhookScene(t);
  const { id, token } = await provisionWithReceiver(scene);
  await enforce(scene.server, policyOf(APPROVE_ALL));
  const request = await scene.server.submit(token);
  const rows = await outbox(scene);
  assert.deepEqual(
    rows.map(({ request_id, body }) => [request_id, JSON.parse(body).instance_id]),
    [[request.id, id]],
  );
});

async function giveGroups(
  { provider }: TestProvider,
  instanceId: string,
  groups: readonly string[],
): Promise<void> {
  const sql = "update instance set group_names = $1 where id = $2";
  await provider.context.store.transact((tx) => tx.run(sql, [JSON.stringify(groups), instanceId]));
}

test("[ours.policy.publish.pending] a change that is rolled back with its transaction is not cached", async (t) => {
  const { server, instance } = await startScene(t);
  const { store } = server.provider.context;
  await enforce(server, policyOf(APPROVE_ALL));
  assert.equal((await server.submit(instance.token)).status, "approved");
  const undone = store.transact(async (tx) => {
    await touchActiveState(tx, "");
    throw new RangeError("no");
  });
  await assert.rejects(undone, RangeError);
  await enforce(server, policyOf(DENY_ALL));
  assert.equal((await server.submit(instance.token)).status, "denied");
  await enforce(server, policyOf(DENY_ALL.replace("none", "never")), FLOOR);
  assert.equal((await server.submit(instance.token)).status, "denied");
});
