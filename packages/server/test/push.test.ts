// Needs: browser
/**
 * Web Push: who subscribes, the notifications that each user gets, and their delivery.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import {
  type ChannelScene,
  type ChannelSceneOptions,
  newChannel,
  passTime,
  startChannelScene,
  untilNotified,
} from "./support/channel-scene.ts";
import { assertRefused } from "./support/envelope.ts";
import { callAs, newPerson, type SignedInPerson } from "./support/people.ts";
import { PushBrowser, type PushMessage } from "./support/push-browser.ts";
import { projectPath } from "./support/test-projects.ts";
import type { Answer, Lifetime } from "./support/test-provider.ts";
import { turns, until } from "./support/until.ts";

const PATH = "/account/push";

const DUE = "select 1 from push_message where request_id = $1 and next_at is not null";

interface Subscription {
  readonly id: string;
  readonly name: string;
  readonly endpoint_sha256: string;
  readonly target: string;
  readonly failures: number;
  readonly last?: { readonly outcome: string; readonly status?: number };
}

interface Listed {
  readonly available: boolean;
  readonly public_key: string | null;
  readonly subscriptions: readonly Subscription[];
}

interface PushScene extends ChannelScene {
  readonly ana: SignedInPerson;
  readonly browser: PushBrowser;
  readonly subscription: Subscription;
}

async function startPushScene(t: Lifetime, options?: ChannelSceneOptions): Promise<PushScene> {
  const scene = await startChannelScene(t, options);
  const ana = await newPerson(scene.server, { login: "ana" });
  const browser = new PushBrowser(scene.receiver.url("/push/ana?token=secret"));
  return { ...scene, ana, browser, subscription: await subscribe(scene, ana, browser) };
}

function trySubscribe(
  { server }: Pick<ChannelScene, "server">,
  person: SignedInPerson,
  body: object,
): Promise<Answer<Subscription & ErrorResponse>> {
  return callAs(server, person, "POST", PATH, { body });
}

async function subscribe(
  scene: Pick<ChannelScene, "server">,
  person: SignedInPerson,
  browser: PushBrowser,
): Promise<Subscription> {
  const { status, text, json } = await trySubscribe(scene, person, browser.toJSON() as object);
  assert.equal(status, 201, text);
  return json;
}

async function list(
  { server }: Pick<ChannelScene, "server">,
  person: SignedInPerson,
): Promise<Listed> {
  return (await callAs<Listed>(server, person, "GET", PATH)).json;
}

/** The notifications that this browser has received so far. */
function notes(
  { receiver }: Pick<ChannelScene, "receiver">,
  browser: PushBrowser,
): readonly PushMessage[] {
  const path = new URL(browser.endpoint).pathname;
  const got = receiver.requests.filter((message) => message.path.startsWith(path));
  return got.map(({ body }) => browser.read(body));
}

function untilNotes(scene: PushScene, count: number, browser = scene.browser): Promise<void> {
  return untilNotified(scene, () => notes(scene, browser).length >= count, `${count} notes`);
}

test("[ours.push.subscribed] a browser is listed without its endpoint, and found by the digest of it", async (t) => {
  const scene = await startPushScene(t);
  const { ana, browser, subscription, server } = scene;
  const { available, public_key, subscriptions } = await list(scene, ana);
  assert.equal(available, true);
  assert.equal(Buffer.from(public_key ?? "", "base64url").length, 65);
  assert.deepEqual(subscriptions, [subscription]);
  const sha256 = createHash("sha256").update(browser.endpoint).digest("hex");
  assert.equal(subscription.endpoint_sha256, sha256);
  const text = JSON.stringify(subscriptions);
  for (const secret of ["/push/ana", "secret"]) assert.ok(!text.includes(secret));
  const rows = await server.provider.context.store.all("select * from push_subscription");
  assert.ok(!JSON.stringify(rows).includes("/push/ana"));
  const again = await trySubscribe(scene, ana, { ...browser.toJSON(), name: "my phone" });
  assert.deepEqual([again.status, again.json.id], [200, subscription.id]);
  assert.equal((await list(scene, ana)).subscriptions[0]?.name, "my phone");
  assert.equal((await list(scene, ana)).public_key, public_key);
});

test("[ours.push.subscribed] an invalid subscription, or an internal endpoint, is rejected with its field", async (t) => {
  const settings = { webhook_allow_cidrs: "" };
  const { server, receiver } = await startChannelScene(t, { settings });
  const ana = await newPerson(server, { login: "ana" });
  const good = new PushBrowser("https://push.example.com/a").toJSON() as {
    readonly keys: object;
  };
  const wrong: [object, string][] = [
    [{}, "endpoint"],
    [{ ...good, endpoint: "http://push.example.com/a" }, "endpoint"],
    [{ ...good, endpoint: "https://user@push.example.com/a" }, "endpoint"],
    [{ ...good, endpoint: "https://localhost/a" }, "endpoint"],
    [{ ...good, keys: { ...good.keys, p256dh: "AAAA" } }, "keys.p256dh"],
    [{ ...good, keys: { ...good.keys, auth: "AAAA" } }, "keys.auth"],
    [{ ...good, keys: {} }, "keys.p256dh"],
    [{ ...good, name: "a\u202Eb" }, "name"],
    [{ ...good, extra: 1 }, "extra"],
  ];
  for (const [body, param] of wrong) {
    assertRefused(await trySubscribe({ server }, ana, body), 400, "invalid_request", param);
  }
  assert.deepEqual((await list({ server }, ana)).subscriptions, []);
  for (const address of ["127.0.0.1", "169.254.169.254", "[::1]"]) {
    const inside = new PushBrowser(`https://${address}:${receiver.port}/a`);
    const { id } = await subscribe({ server }, ana, inside);
    const tried = await callAs<{ readonly outcome: string }>(
      server,
      ana,
      "POST",
      `${PATH}/${id}/test`,
    );
    assert.equal(tried.json.outcome, "refused");
  }
  assert.equal(receiver.connections, 0);
});

test("[ours.push.subscribed] a subscription belongs to one person until another person signs in on the same browser", async (t) => {
  const scene = await startPushScene(t);
  const { server, ana, browser, subscription } = scene;
  const li = await newPerson(server, { login: "li" });
  assert.deepEqual((await list(scene, li)).subscriptions, []);
  const path = `${PATH}/${subscription.id}`;
  for (const [method, place] of [
    ["DELETE", path],
    ["POST", `${path}/test`],
  ] as const) {
    const answer = await callAs<ErrorResponse>(server, li, method, place);
    assertRefused(answer, 404, "not_found");
  }
  await subscribe(scene, li, browser);
  assert.deepEqual((await list(scene, ana)).subscriptions, []);
  const [own] = (await list(scene, li)).subscriptions;
  const removed = await callAs(server, li, "DELETE", `${PATH}/${own?.id}`);
  assert.deepEqual(removed.json, { removed: own?.id });
  assert.deepEqual((await list(scene, li)).subscriptions, []);
  const kinds = await server.provider.context.store.all(
    "select kind from audit_entry where kind like 'push.%' order by id",
  );
  assert.equal(kinds.length, 4);
});

test("[ours.push.notified] a request is announced once without its arguments, and again when it has ended", async (t) => {
  const scene = await startPushScene(t);
  const { server, instance, browser, receiver, reviewer } = scene;
  const request = await server.submit(instance.token, {
    tool: "dépl\u202Eoy",
    arguments: { password: "hunter2" },
  });
  await untilNotes(scene, 1);
  const [waiting] = notes(scene, browser);
  assert.deepEqual(waiting, {
    type: "request.waiting",
    request_id: request.id,
    tag: request.id,
    silent: false,
    path: `${await projectPath(scene.server)}/inbox/${request.id}`,
    tool: "dépl\\u{202E}oy",
    instance_name: waiting?.instance_name,
    deadline_at: request.deadline_at,
  });
  const [message] = receiver.requests;
  assert.ok(message);
  const { headers } = message;
  assert.equal(headers["content-encoding"], "aes128gcm");
  assert.deepEqual([headers.ttl, headers.urgency], ["3600", "high"]);
  assert.match(String(headers.topic), /^[A-Za-z0-9_-]{32}$/);
  const key = (await list(scene, scene.ana)).public_key;
  assert.ok(String(headers.authorization).endsWith(`, k=${key}`));
  assert.ok(!message.body.includes("hunter2"));
  await passTime(scene, 3_000);
  assert.equal(notes(scene, browser).length, 1);

  await server.decide(reviewer, request.id, "deny");
  await untilNotes(scene, 2);
  const resolved = notes(scene, browser)[1];
  assert.deepEqual(resolved, {
    ...waiting,
    type: "request.resolved",
    silent: true,
    status: "denied",
  });
  await passTime(scene, 3_000);
  assert.equal(notes(scene, browser).length, 2);
  const left = await server.provider.context.store.all("select * from push_message");
  assert.deepEqual(left, []);
});

test("[ours.push.notified] only reviewers who can decide are notified", async (t) => {
  const scene = await startPushScene(t);
  const { server, instance, admin, browser } = scene;
  const others: PushBrowser[] = [];
  const people = [
    { login: "viewer", role: "viewer" },
    { login: "dba", role: "reviewer", groups: ["dba"] },
    { login: "elsewhere", role: "admin", project: "elsewhere" },
  ] as const;
  for (const order of people) {
    const other = new PushBrowser(scene.receiver.url(`/push/${order.login}`));
    others.push(other);
    await subscribe(scene, await newPerson(server, order), other);
  }
  const [viewer, dba, elsewhere] = others as [PushBrowser, PushBrowser, PushBrowser];
  const source =
    "version: 1\nrules:\n  - id: r\n    match: { tool: db }\n    then: ask\n" +
    "    ask: { from: [group:dba] }\n";
  const body = { source, expected_number: 0 };
  const published = await server.call("POST", "/review/v1/policy", { token: admin, body });
  assert.equal(published.status, 201, published.text);
  await server.submit(instance.token, { tool: "db" });
  await untilNotes(scene, 1, dba);
  await server.submit(instance.token, { tool: "other" });
  await untilNotes(scene, 2, dba);
  await untilNotes(scene, 1, browser);
  await passTime(scene, 2_000);
  const toolsOf = (one: PushBrowser) => notes(scene, one).map(({ tool }) => tool);
  assert.deepEqual(toolsOf(dba), ["db", "other"]);
  assert.deepEqual(toolsOf(browser), ["other"]);
  assert.deepEqual([toolsOf(viewer), toolsOf(elsewhere)], [[], []]);
});

test("[ours.push.notified] a reviewer is notified of the requests that they chose: only requests that name them, or none", async (t) => {
  const scene = await startPushScene(t);
  const { server, instance, admin, ana, browser } = scene;
  const dba = await newPerson(server, { login: "dba", groups: ["dba"] });
  const dbaBrowser = new PushBrowser(scene.receiver.url("/push/dba"));
  await subscribe(scene, dba, dbaBrowser);
  const choose = (person: SignedInPerson, notify: string) =>
    callAs(server, person, "PATCH", "/account/preferences", { body: { notify } });
  await choose(dba, "named");
  await choose(ana, "none");
  const source =
    "version: 1\nrules:\n  - id: r\n    match: { tool: db }\n    then: ask\n" +
    "    ask: { from: [group:dba] }\n";
  const body = { source, expected_number: 0 };
  await server.call("POST", "/review/v1/policy", { token: admin, body });
  await server.submit(instance.token, { tool: "other" });
  await server.submit(instance.token, { tool: "db" });
  await untilNotes(scene, 1, dbaBrowser);
  await passTime(scene, 2_000);
  assert.deepEqual(
    notes(scene, dbaBrowser).map(({ tool }) => tool),
    ["db"],
  );
  assert.deepEqual(notes(scene, browser), []);
});

test("[ours.push.quiet] in quiet hours no push is sent; requests still pending are pushed afterwards", async (t) => {
  const scene = await startPushScene(t);
  const { server, clock, instance, ana, browser, reviewer } = scene;
  // It is midnight.
  const quiet_hours = { from: "23:00", to: "00:01", time_zone: "UTC" };
  await callAs(server, ana, "PATCH", "/account/preferences", { body: { quiet_hours } });
  const decided = await server.submit(instance.token, { tool: "decided" });
  const waits = await server.submit(instance.token, { tool: "waits" });
  await passTime(scene, 5_000);
  assert.deepEqual(notes(scene, browser), []);
  await server.decide(reviewer, decided.id, "deny");
  await turns();
  clock.advance(60_000);
  await untilNotes(scene, 1);
  await passTime(scene, 2_000);
  assert.deepEqual(
    notes(scene, browser).map(({ request_id }) => request_id),
    [waits.id],
  );
});

test("[ours.push.kept] a failed push is retried later", async (t) => {
  let failures = 2;
  const scene = await startPushScene(t, {
    answer: (_, response) => response.writeHead(failures-- > 0 ? 500 : 201).end(),
  });
  const { server, instance, ana, receiver } = scene;
  await server.submit(instance.token);
  await untilNotified(scene, () => receiver.requests.length === 1, "the first attempt");
  const failed = async () => (await list(scene, ana)).subscriptions[0];
  await untilNotified(scene, async () => (await failed())?.failures === 1, "its record");
  assert.deepEqual((await failed())?.last?.outcome, "rejected");
  await passTime(scene, 10_000);
  await untilNotified(scene, async () => (await failed())?.failures === 0, "it arrives");
  assert.equal(receiver.requests.length, 3);
  assert.deepEqual((await failed())?.last?.status, 201);
});

test("[ours.push.kept] a subscription that the push service answers with 404 or 410 is removed", async (t) => {
  for (const status of [404, 410]) {
    const scene = await startPushScene(t, {
      answer: (_, response) => response.writeHead(status).end(),
    });
    const { server, instance, ana } = scene;
    await server.submit(instance.token);
    const isGone = async () => (await list(scene, ana)).subscriptions.length === 0;
    await untilNotified(scene, isGone, "it is removed");
    await server.submit(instance.token);
    await passTime(scene, 3_000);
    assert.equal(scene.receiver.requests.length, 1);
  }
});

test("[ours.push.subscribed] a test says what the push service answered", async (t) => {
  let status = 201;
  const scene = await startPushScene(t, {
    answer: (_, response) => response.writeHead(status).end(),
  });
  const { server, ana, subscription, browser } = scene;
  const tryIt = () =>
    callAs<{ readonly outcome: string; readonly status: number }>(
      server,
      ana,
      "POST",
      `${PATH}/${subscription.id}/test`,
    );
  const sent = (await tryIt()).json;
  assert.deepEqual([sent.outcome, sent.status], ["sent", 201]);
  assert.equal(notes(scene, browser)[0]?.type, "push.test");
  status = 403;
  const refused = (await tryIt()).json;
  assert.deepEqual([refused.outcome, refused.status], ["rejected", 403]);
  status = 410;
  await tryIt();
  assert.deepEqual((await list(scene, ana)).subscriptions, []);
});

test("[ours.notify.tests] [ours.push.subscribed] test messages to browsers and channels are rate limited", async (t) => {
  const scene = await startPushScene(t);
  const { server, admin, ana, subscription, receiver, clock } = scene;
  const push = `${PATH}/${subscription.id}/test`;
  const channel = await newChannel(scene, "topic", { kind: "ntfy" });
  const tests = {
    push: () => callAs<ErrorResponse>(server, ana, "POST", push),
    channel: () => {
      const path = `/review/v1/channels/${channel.id}/test`;
      return server.call<ErrorResponse>("POST", path, { token: admin });
    },
  };
  for (const [name, tryIt] of Object.entries(tests)) {
    const before = receiver.requests.length;
    const answers = await Promise.all(Array.from({ length: 11 }, tryIt));
    const refused = answers.filter(({ status }) => status !== 200);
    assert.equal(refused.length, 1, name);
    assertRefused(refused[0] ?? assert.fail(), 429, "rate_limited");
    assert.equal(refused[0]?.headers.get("retry-after"), "6");
    assert.equal(receiver.requests.length - before, 10, name);
    clock.advance(6_000);
    assert.equal((await tryIt()).status, 200, name);
  }
});

test("[ours.push.notified] a disabled or removed person gets no more messages", async (t) => {
  const scene = await startPushScene(t);
  const { server, instance, ana } = scene;
  const { store } = server.provider.context;
  await store.transact((tx) => tx.run("update person set disabled_at = 1 where id = $1", [ana.id]));
  await server.submit(instance.token);
  await passTime(scene, 3_000);
  assert.deepEqual(scene.receiver.requests, []);
});

test("[ours.claim.handed] repeated hand-overs of a request notify the same receiver once in ten minutes", async (t) => {
  const scene = await startPushScene(t);
  const { server, instance, ana, clock } = scene;
  const ben = await newPerson(server, { login: "ben" });
  const { store } = server.provider.context;
  const row = await store.get("select id from reviewer where person_id = $1", [ana.id]);
  const { id } = await server.submit(instance.token);
  await untilNotes(scene, 1);
  const path = `/requests/${id}/claim`;
  const claimAndHandOver = async () => {
    await callAs(server, ben, "POST", path, { body: { take_over: true } });
    const body = { reviewer_id: row?.id };
    const handed = await callAs(server, ben, "POST", `${path}/hand-over`, { body });
    assert.deepEqual(handed.json, { handed_over: true });
    const repeated = await callAs(server, ben, "POST", `${path}/hand-over`, { body });
    assert.deepEqual(repeated.json, { handed_over: false });
  };
  const countDue = async () => (await store.all(DUE, [id])).length;
  await claimAndHandOver();
  await untilNotes(scene, 2);
  await until(async () => (await countDue()) === 0, "the second message is stored as sent");
  await claimAndHandOver();
  assert.equal(await countDue(), 0);
  clock.advance(10 * 60_000);
  await claimAndHandOver();
  assert.equal(await countDue(), 1);
});
