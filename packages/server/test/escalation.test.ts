/**
 * Escalation: while a request stays undecided, further groups may decide it, at the times that its
 * rule states.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { escalateRequest } from "../src/steps/requests/escalateRequest.ts";
import { lockForResolution } from "../src/storage/sql/requests/requests.ts";
import {
  announcements,
  type ChannelScene,
  newChannel,
  startChannelScene,
  textOf,
  untilEnded,
} from "./support/channel-scene.ts";
import { assertRefused } from "./support/envelope.ts";
import { EventReader } from "./support/event-reader.ts";
import { callAs, newPerson } from "./support/people.ts";
import { enforce, FLOOR, judgementOf, policyOf } from "./support/policies.ts";
import { PushBrowser } from "./support/push-browser.ts";
import { setOwner } from "./support/requirements.ts";
import { auditOf, restart, type Scene, startScene, untilStored } from "./support/scene.ts";
import type { Answer, ReviewedRequest } from "./support/test-provider.ts";
import { turns, until } from "./support/until.ts";

const MIN = 60_000;

const STEPS = "escalate: [{ after: 5m, to: group:leads }, { after: 15m, to: group:directors }]";
const ASK = `ask: { from: group:dev, ${STEPS} }`;
const DEPLOY = `{ id: deploys, match: { tool: deploy }, then: ask, ${ASK} }`;

type Reviewed = ReviewedRequest & {
  readonly requirement: {
    readonly from: readonly (readonly string[])[];
    readonly escalate?: readonly {
      readonly to: string;
      readonly at: string;
      readonly done_at?: string;
    }[];
  };
  readonly may_decide: { readonly approve: boolean; readonly deny: boolean };
};

function show({ server }: Pick<Scene, "server">, id: string, token: string) {
  return server.call<Reviewed>("GET", `/review/v1/requests/${id}`, { token });
}

interface People {
  readonly dev: string;
  readonly lead: string;
  readonly director: string;
}

async function people({ server }: Pick<Scene, "server">): Promise<People> {
  const token = (name: string, group: string) =>
    server.token({ kind: "reviewer", name, groups: [group] });
  return {
    dev: await token("dora", "dev"),
    lead: await token("lea", "leads"),
    director: await token("dirk", "directors"),
  };
}

async function entriesOf(scene: Pick<Scene, "server">, id: string) {
  const entries = await auditOf(scene, `request:${id}`);
  return entries.filter(({ kind }) => kind === "request.escalated");
}

/** Lets the worker do what is due now, until this many steps are recorded. */
async function untilEscalated(
  scene: Pick<Scene, "server" | "clock">,
  id: string,
  steps: number,
): Promise<void> {
  await until(async () => {
    scene.clock.advance(0);
    return (await entriesOf(scene, id)).length === steps;
  }, `${steps} steps are applied`);
}

/** Time passes when the workers have done what they were woken for. */
async function pass({ clock }: Pick<Scene, "clock">, ms: number): Promise<void> {
  await turns();
  clock.advance(ms);
}

test("[ours.escalate.applied] a group decides from its time on, and the deadline stays", async (t) => {
  const scene = await startScene(t);
  const { server, clock, instance } = scene;
  const { dev, lead, director } = await people(scene);
  await enforce(server, policyOf(DEPLOY));
  const { id, created_at, deadline_at } = await server.submit(instance.token);
  const reader = await EventReader.open(t, server, { authorization: `Bearer ${dev}` });
  await reader.next("ready");
  const createdAt = Date.parse(created_at);
  const timeOf = (ms: number) => new Date(createdAt + ms).toISOString();

  assert.deepEqual((await show(scene, id, lead)).json.requirement.escalate, [
    { to: "group:leads", at: timeOf(5 * MIN) },
    { to: "group:directors", at: timeOf(15 * MIN) },
  ]);
  await pass(scene, 5 * MIN - 1);
  await turns();
  assertRefused(await server.decide(lead, id, "approve"), 403, "forbidden");
  assertRefused(await server.decide(lead, id, "deny"), 403, "forbidden");

  await pass(scene, 1);
  await untilEscalated(scene, id, 1);
  await reader.next("request", id);
  const { json } = await show(scene, id, lead);
  assert.deepEqual(json.may_decide, { approve: true, deny: true });
  assert.deepEqual(json.requirement.from, [["group:dev", "group:leads"]]);
  assert.deepEqual(json.requirement.escalate, [
    { to: "group:leads", at: timeOf(5 * MIN), done_at: timeOf(5 * MIN) },
    { to: "group:directors", at: timeOf(15 * MIN) },
  ]);
  assert.equal(json.deadline_at, deadline_at);
  assert.equal((await show(scene, id, director)).json.may_decide.approve, false);
  const [entry] = await entriesOf(scene, id);
  assert.deepEqual(entry, {
    at: clock.now(),
    kind: "request.escalated",
    actor: "system:escalation",
    detail: { step: 1, to: "group:leads", after_ms: 5 * MIN },
  });
  const [opened] = await auditOf(scene, `request:${id}`);
  const recorded = opened?.detail.requirement as { readonly escalate: unknown } | undefined;
  assert.deepEqual(recorded?.escalate, [
    { after_ms: 5 * MIN, to: "group:leads", widens: [0] },
    { after_ms: 15 * MIN, to: "group:directors", widens: [0] },
  ]);
  const { json: background } = await server.call<{
    readonly timeline: readonly { readonly kind: string; readonly reason?: string }[];
  }>("GET", `/review/v1/requests/${id}/background`, { token: dev });
  assert.deepEqual(
    background.timeline.map(({ kind, reason }) => [kind, reason]),
    [
      ["request.opened", undefined],
      ["request.escalated", "group:leads"],
    ],
  );

  await server.decide(lead, id, "approve");
  assert.equal((await server.read(instance.token, id)).status, "approved");
  const decided = await show(scene, id, dev);
  assert.equal(decided.json.requirement.escalate?.length, 1, "the second step is not shown");
  await pass(scene, 11 * MIN);
  await turns();
  assert.equal((await entriesOf(scene, id)).length, 1);
});

test("[ours.escalate.applied] a step does not approve: an escalated request expires at its deadline", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  await enforce(server, policyOf(DEPLOY));
  const { id } = await server.submit(instance.token, { timeout: "15m" });
  await pass(scene, 5 * MIN);
  await untilEscalated(scene, id, 1);
  await pass(scene, 10 * MIN);
  await untilStored(scene, id, "expired");
  assert.equal((await entriesOf(scene, id)).length, 1, "no step at the deadline");
});

test("[ours.escalate.votes] a quorum counts the votes of the added group, and the owner stays excluded", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const { dev, lead } = await people(scene);
  const rule = `{ id: two, match: { tool: deploy }, then: ask,
      ask: { from: group:dev, quorum: 2, exclude: owner, ${STEPS} } }`;
  await enforce(server, policyOf(rule));
  const owner = await server.token({ kind: "reviewer", name: "omar", groups: ["leads"] });
  await setOwner(server.provider.context.store, instance.id, "omar");
  const { id } = await server.submit(instance.token);
  assert.equal((await server.decide(dev, id, "approve")).json.status, "pending");
  await pass(scene, 5 * MIN);
  await untilEscalated(scene, id, 1);
  assertRefused(await server.decide(owner, id, "approve"), 403, "forbidden");
  assert.equal((await server.decide(lead, id, "approve")).json.status, "approved");
});

test("[ours.escalate.floor] a step of the project does not replace the group of the baseline policy", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const { dev, lead } = await people(scene);
  const security = await server.token({ kind: "reviewer", name: "sam", groups: ["security"] });
  await enforce(server, policyOf(DEPLOY));
  const floor = '{ id: all, match: { tool: "*" }, then: ask, ask: { from: group:security } }';
  await enforce(server, policyOf(floor), FLOOR);
  const { id } = await server.submit(instance.token);
  await pass(scene, 5 * MIN);
  await untilEscalated(scene, id, 1);
  assert.deepEqual((await show(scene, id, dev)).json.requirement.from, [
    ["group:dev", "group:leads"],
    ["group:security"],
  ]);
  assert.equal((await server.decide(lead, id, "approve")).json.status, "pending");
  assert.equal((await server.decide(security, id, "approve")).json.status, "approved");
});

test("[ours.escalate.durable] after downtime, the server applies the missed steps once, and none after the deadline", async (t) => {
  const first = await startScene(t);
  await enforce(first.server, policyOf(DEPLOY));
  const { id } = await first.server.submit(first.instance.token);
  const late = await first.server.submit(first.instance.token, { timeout: "16m" });
  await turns();
  await first.server.stop();
  first.clock.advance(20 * MIN);
  const second = await restart(t, first);
  await untilEscalated(second, id, 2);
  await untilStored(second, late.id, "expired");
  assert.deepEqual(await entriesOf(second, late.id), []);
  const third = await restart(t, second);
  await pass(third, 2_000);
  await turns();
  const entries = await entriesOf(third, id);
  assert.deepEqual(
    entries.map(({ detail }) => [detail.step, detail.to]),
    [
      [1, "group:leads"],
      [2, "group:directors"],
    ],
  );
  const { director } = await people(third);
  assert.equal((await third.server.decide(director, id, "approve")).json.status, "approved");
});

test("[ours.escalate.durable] a damaged request does not delay the steps of others", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  await enforce(server, policyOf(DEPLOY));
  const damaged = await server.submit(instance.token);
  const { id } = await server.submit(instance.token);
  const sql = "update request set timeout = '1s' where id = $1";
  await server.provider.context.store.transact((tx) => tx.run(sql, [damaged.id]));
  await pass(scene, 5 * MIN);
  await untilEscalated(scene, id, 1);
  assert.deepEqual(await entriesOf(scene, damaged.id), []);
});

test("[ours.escalate.durable] a changed index column does not apply a step before its time", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  await enforce(server, policyOf(DEPLOY));
  const { id } = await server.submit(instance.token);
  const other = await server.submit(instance.token);
  const sql = "update request set escalates_at = 1 where id = $1";
  await server.provider.context.store.transact((tx) => tx.run(sql, [id]));
  await pass(scene, 5 * MIN - 1);
  await turns();
  assert.deepEqual(await entriesOf(scene, id), []);
  // The worker pauses after a run without a due step.
  await pass(scene, 100);
  await untilEscalated(scene, other.id, 1);
  await untilEscalated(scene, id, 1);
});

test("[ours.escalate.deadline] a due step does nothing when the deadline passes first, or the instance is deleted", async (t) => {
  const scene = await startScene(t);
  const { server, clock, instance } = scene;
  const { context } = server.provider;
  await enforce(server, policyOf(DEPLOY));
  const { id } = await server.submit(instance.token, { timeout: "16m" });
  await turns();
  const row = await context.store.get("select project_id from request where id = $1", [id]);
  const key = { projectId: String(row?.project_id), id };
  const outcomes = await context.store.transact(async (tx) => {
    const request = await lockForResolution(tx, key);
    assert.ok(request);
    clock.advance(6 * MIN);
    const deleted = await escalateRequest(tx, context, { ...request, isInstanceDeleted: true });
    clock.advance(10 * MIN);
    return [deleted, await escalateRequest(tx, context, request)];
  });
  assert.deepEqual(outcomes, [false, false]);
  await untilStored(scene, id, "expired");
  assert.deepEqual(await entriesOf(scene, id), []);
});

test("[ours.escalate.none] a request without escalation stores no time and no steps", async (t) => {
  const { server, instance } = await startScene(t);
  await enforce(server, policyOf("{ id: all, then: ask, ask: { from: group:dev } }", DEPLOY));
  const { id } = await server.submit(instance.token, { tool: "read" });
  assert.equal("escalate" in ((await judgementOf(server, id)).requirement ?? {}), false);
  const row = await server.provider.context.store.get(
    "select escalates_at from request where id = $1",
    [id],
  );
  assert.equal(row?.escalates_at, null);
});

test("[ours.escalate.simulated] a simulation compares escalations, and ignores the steps that were applied", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const editor = await server.token({ kind: "reviewer", name: "edi", role: "admin" });
  await people(scene);
  await enforce(server, policyOf(DEPLOY));
  const { id } = await server.submit(instance.token);
  await pass(scene, 5 * MIN);
  await untilEscalated(scene, id, 1);
  const simulate = async (rule: string) => {
    const body = { source: policyOf(rule) };
    const { text } = await server.call("POST", "/review/v1/policy/simulate", {
      token: editor,
      body,
    });
    const lines = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    return lines.flatMap(({ differs }) => differs ?? []);
  };
  assert.deepEqual(await simulate(DEPLOY), []);
  assert.deepEqual(await simulate(DEPLOY.replace("5m", "6m")), ["escalate"]);
});

test("[ours.escalate.checked] publishing checks the groups of steps and warns of steps after the longest timeout", async (t) => {
  const scene = await startScene(t);
  const { server } = scene;
  const admin = await server.token({ kind: "reviewer", name: "edi", role: "admin" });
  await people(scene);
  const check = async (rule: string) => {
    const body = { source: policyOf(rule) };
    const answer: Answer<{
      readonly findings: readonly { readonly message: string }[];
      readonly warnings: readonly { readonly message: string }[];
    }> = await server.call("POST", "/review/v1/policy/check", { token: admin, body });
    const { findings, warnings } = answer.json;
    return [...findings, ...warnings].map(({ message }) => message);
  };
  const none = "the policy has no tests";
  assert.deepEqual(await check(DEPLOY), [none]);
  assert.deepEqual(await check(DEPLOY.replace("group:leads", "group:nobody")), [
    "unknown group `nobody`",
  ]);
  assert.deepEqual(await check(DEPLOY.replace("15m", "168h")), [
    "this step can never happen: a request waits at most 168h",
    none,
  ]);
});

async function leadsScene(t: TestContext): Promise<ChannelScene> {
  const scene = await startChannelScene(t);
  await enforce(scene.server, policyOf(DEPLOY));
  await newChannel(scene, "dev", { groups: ["dev"] });
  await newChannel(scene, "leads", { groups: ["leads"], remind_before: "2m" });
  await newChannel(scene, "all");
  await newChannel(scene, "hook", { kind: "webhook", groups: ["leads"] });
  return scene;
}

test("[ours.escalate.announced] the channels of the group announce a step once, and remind of the deadline", async (t) => {
  const scene = await leadsScene(t);
  const { server, instance } = scene;
  const { id, deadline_at } = await server.submit(instance.token);
  await untilEnded(scene);
  assert.deepEqual(
    ["/dev", "/leads", "/all"].map((path) => scene.at(path).length),
    [1, 0, 1],
  );
  await pass(scene, 5 * MIN);
  await untilEscalated(scene, id, 1);
  await until(async () => {
    scene.clock.advance(0);
    return scene.at("/leads").length === 1 && scene.at("/hook").length === 1;
  }, "the leads are notified");
  await until(async () => {
    scene.clock.advance(0);
    return scene.at("/all").length === 2;
  }, "the channel of all is notified");
  assert.equal(scene.at("/dev").length, 1);
  const [message] = scene.at("/leads");
  assert.ok(message);
  const lines = textOf(message).split("\n");
  assert.equal(lines[1], `Time left: 55m (until ${deadline_at})`);
  assert.deepEqual(lines.slice(3, 5), [
    "Needs: 1 approval of `group:dev or group:leads`",
    "Escalated to `leads`.",
  ]);
  const [hook] = scene.at("/hook");
  const body = JSON.parse(String(hook?.body));
  assert.equal(body.type, "request.escalated");
  assert.deepEqual(body.request.escalated_to, ["group:leads"]);
  assert.match(body.text, /^Escalated to "leads": "deploy" waits: 55m left$/);
  const rows = await announcements(scene);
  const reminders = rows.filter(({ occasion }) => occasion === "reminder");
  assert.deepEqual(
    reminders.map(({ next_at }) => Number(next_at)),
    [Date.parse(deadline_at) - 2 * MIN],
  );
});

test("[ours.escalate.announced] a step notifies the browsers of its group, and those notified before not again", async (t) => {
  const scene = await startChannelScene(t);
  const { server, instance, receiver } = scene;
  await enforce(server, policyOf(DEPLOY));
  for (const [login, group] of [
    ["dora", "dev"],
    ["lea", "leads"],
    ["dirk", "directors"],
  ] as const) {
    const person = await newPerson(server, { login, groups: [group] });
    const browser = new PushBrowser(receiver.url(`/push/${login}`));
    const body = browser.toJSON() as object;
    const { status, text } = await callAs(server, person, "POST", "/account/push", { body });
    assert.equal(status, 201, text);
  }
  const counts = () => ["dora", "lea", "dirk"].map((login) => scene.at(`/push/${login}`).length);
  const untilCounts = (wanted: readonly number[]) =>
    until(() => {
      scene.clock.advance(0);
      return counts().join() === wanted.join();
    }, `${wanted.join()} notes`);
  const { id } = await server.submit(instance.token);
  await untilCounts([1, 0, 0]);
  await pass(scene, 5 * MIN);
  await untilEscalated(scene, id, 1);
  await untilCounts([1, 1, 0]);
  await pass(scene, 10 * MIN);
  await untilEscalated(scene, id, 2);
  await untilCounts([1, 1, 1]);
});
