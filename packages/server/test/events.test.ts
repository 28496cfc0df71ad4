/**
 * The stream of events: its hints, its readers and its end.
 */

import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { cancelApprovalRequest } from "../src/operations/requests/cancelApprovalRequest.ts";
import { LocalWake } from "../src/wake/local-wake.ts";
import { assertRefused } from "./support/envelope.ts";
import { EventReader } from "./support/event-reader.ts";
import { asPage, callAs, newPerson } from "./support/people.ts";
import { enforce } from "./support/policies.ts";
import { policySaying } from "./support/publishing.ts";
import { setReviewer, submitRequiring } from "./support/requirements.ts";
import { cancel, NO_RATES, type Scene, startScene } from "./support/scene.ts";
import { startTestProvider } from "./support/test-provider.ts";
import { turns, until } from "./support/until.ts";

const scene = await startScene({ after });
const { server, clock, instance, reviewer } = scene;
const { store } = server.provider.context;

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

function follow(t: TestContext, token = reviewer, at = server): Promise<EventReader> {
  return EventReader.open(t, at, bearer(token));
}

/** Advances the clock until an event is read. */
async function pass<T>(pending: Promise<T>, ms = 1_000): Promise<T> {
  let isSettled = false;
  pending.then(
    () => (isSettled = true),
    () => (isSettled = true),
  );
  await until(async () => {
    if (!isSettled) clock.advance(ms);
    await turns();
    return isSettled;
  }, "an event arrives as time passes");
  return pending;
}

test("[ours.events.hints] a request that is opened, voted on, resolved or cancelled makes a hint with its id alone", async (t) => {
  const reader = await follow(t);
  const { headers } = reader.response;
  assert.deepEqual(
    ["content-type", "cache-control", "x-accel-buffering", "content-encoding"].map((name) =>
      headers.get(name),
    ),
    ["text/event-stream", "no-store", "no", null],
  );
  await reader.next("ready");
  const { id } = await submitRequiring(scene, { quorum: 2 });
  const opened = await reader.next("request", id);
  assert.equal(opened.source, JSON.stringify({ id }));
  await server.decide(reviewer, id, "approve");
  await reader.next("request", id);
  await server.call("DELETE", `/review/v1/requests/${id}/vote`, { token: reviewer });
  await reader.next("request", id);
  await server.decide(reviewer, id, "deny", { note: "no" });
  await reader.next("request", id);
  const cancelled = await server.submit(instance.token);
  await reader.next("request", cancelled.id);
  await cancel(server, instance.token, cancelled.id);
  await reader.next("request", cancelled.id);
  assert.deepEqual(reader.requests, []);
});

test("[ours.events.hints] a delayed verdict sends an event only to its reviewer", async (t) => {
  const other = await server.token({ kind: "reviewer", name: "other" });
  const { id } = await server.submit(instance.token);
  const [mine, theirs] = [await follow(t), await follow(t, other)];
  for (const reader of [mine, theirs]) await reader.next("ready");
  await server.decide(reviewer, id, "approve", { hold: "60s" });
  await mine.next("request", id);
  await server.call("DELETE", `/review/v1/requests/${id}/held`, { token: reviewer });
  await mine.next("request", id);
  const after = await server.submit(instance.token);
  for (const reader of [mine, theirs]) {
    await reader.next("request", after.id);
    assert.deepEqual(reader.requests, []);
  }
});

test("[ours.events.hints] a request that policy answers makes no hint, nor does one of another project", async (t) => {
  const project = "answered";
  const token = await server.token({ kind: "reviewer", project });
  const there = await server.instance(project);
  await enforce(server, policySaying("approve", "ls"), project);
  const reader = await follow(t, token);
  await reader.next("ready");
  const foreign = await server.submit(instance.token);
  assert.equal((await server.submit(there.token, { tool: "ls" })).status, "approved");
  const { id } = await server.submit(there.token);
  await reader.next("request", id);
  await cancel(server, instance.token, foreign.id);
  await cancel(server, there.token, id);
  await reader.next("request", id);
  assert.deepEqual(reader.requests, []);
});

test("[ours.events.hints] a freeze makes a hint when it is set and when it is lifted", async (t) => {
  const reader = await follow(t);
  await reader.next("ready");
  const frozen = await server.call<{ id: string }>("POST", "/review/v1/freezes", {
    token: reviewer,
    body: { scope: "project", note: "Stop." },
  });
  assert.equal((await reader.next("freezes")).source, "{}");
  await server.call("POST", `/review/v1/freezes/${frozen.json.id}/lift`, { token: reviewer });
  await reader.next("freezes");
});

test("[ours.events.hints] a scan finds within a second what no signal announced", async (t) => {
  const reader = await follow(t);
  await reader.next("ready");
  const { id } = await server.submit(instance.token);
  await reader.next("request", id);
  // As another process would whose signal was lost.
  const silent = { ...server.provider.context, wake: new LocalWake() };
  const row = await store.get("select project_id from request where id = $1", [id]);
  const projectId = String(row?.project_id);
  const owner = {
    kind: "instance",
    credentialId: "",
    tokenHash: "",
    projectId,
    instanceId: instance.id,
  } as const;
  await cancelApprovalRequest(silent, owner, id);
  await pass(reader.next("request", id));
});

test("[ours.events.alive] an idle stream sends heartbeats while the server's clock does not advance", async (t) => {
  const reader = await follow(t);
  const ready = await reader.next("ready");
  assert.deepEqual(Object.keys(ready.data), ["pulse_ms"]);
  assert.ok(ready.data.pulse_ms > 0);
  for (let times = 0; times < 2; times++) {
    assert.equal((await reader.next("pulse")).source, "{}");
  }
});

test("[ours.events.reconnect] an event follows each change after ready, so that a reader who lists then misses none", async (t) => {
  const own: Scene = await startScene(t);
  const reader = await follow(t, own.reviewer, own.server);
  await reader.next("ready");
  const stopping = own.server.stop();
  assert.equal((await reader.next("end")).data.reason, "shutdown");
  await reader.over;
  await stopping;
  const settings = NO_RATES;
  const again = await startTestProvider(t, { clock: own.clock, data: own.server.data, settings });
  const missed = await again.submit(own.instance.token);
  const reconnected = await follow(t, own.reviewer, again);
  await reconnected.next("ready");
  const path = "/review/v1/requests?state=pending";
  const listed = await again.call<{ requests: readonly { id: string }[] }>("GET", path, {
    token: own.reviewer,
  });
  assert.deepEqual(
    listed.json.requests.map(({ id }) => id),
    [missed.id],
  );
  const { id } = await again.submit(own.instance.token);
  await reconnected.next("request", id);
  assert.deepEqual(reconnected.requests, []);
});

test("[ours.events.bounded] a session or token has eight streams and no more", async (t) => {
  const token = await server.token({ kind: "reviewer", name: "many" });
  const readers: EventReader[] = [];
  for (let i = 0; i < 8; i++) readers.push(await follow(t, token));
  const path = "/review/v1/events";
  assertRefused(await server.call("GET", path, { token }), 429, "rate_limited");
  assert.equal((await server.call("GET", path, { token: reviewer })).status, 200);
  await readers[0]?.close();
  await until(
    async () => (await server.call("GET", path, { token })).status === 200,
    "there is room again",
  );
});

test("[ours.events.bounded] a reader that leaves more than 64 KiB unread is disconnected", async (t) => {
  const project = "unread";
  const token = await server.token({ kind: "reviewer", project });
  const agent = await server.instance(project);
  const { id: requestId } = await server.submit(agent.token);
  const row = await store.get("select project_id from request where id = $1", [requestId]);
  const projectId = String(row?.project_id);
  const reader = await follow(t, token);
  await reader.next("ready");
  // Nothing is read between signals that are sent at once.
  const { wake } = server.provider.context;
  for (let sent = 0; sent < 2_000; sent++) wake.signal({ kind: "voted", projectId, requestId });
  await reader.over;
});

test("[ours.events.ended] a stream ends when its token is revoked, its session ends or its reader is disabled, and a changed role makes a hint", async (t) => {
  const token = await server.token({ kind: "reviewer", name: "revoked" });
  const [out, off] = [
    await newPerson(server, { login: "out" }),
    await newPerson(server, { login: "off" }),
  ];
  const readers = [
    await follow(t, token),
    await EventReader.open(t, server, asPage(out)),
    await EventReader.open(t, server, asPage(off)),
  ];
  for (const reader of readers) await reader.next("ready");
  await setReviewer(store, "revoked", { role: "admin" });
  const [first] = readers as [EventReader];
  await pass(first.next("caller"));
  await store.transact(async (tx) => {
    await tx.run(
      `update credential set revoked_at = 1
       where holder_id in (select id from reviewer where name = 'revoked')`,
    );
    await tx.run("update person set disabled_at = 1 where login = 'off'");
  });
  await callAs(server, out, "DELETE", "/session");
  for (const reader of readers) {
    assert.equal((await pass(reader.next("end"))).data.reason, "signed_out");
    await reader.over;
  }
});

test("[ours.events.idle] neither a stream nor the background requests of a page keep a session from expiring", async (t) => {
  const person = await newPerson(server, { login: "away" });
  const reader = await EventReader.open(t, server, asPage(person));
  await reader.next("ready");
  const background = { headers: { "countersign-background": "1" } };
  for (let minutes = 0; minutes < 60; minutes += 10) {
    const answer = await callAs(server, person, "GET", "/requests", background);
    assert.equal(answer.status, 200, answer.text);
    await turns();
    clock.advance(600_000);
  }
  assert.equal((await pass(reader.next("end"))).data.reason, "signed_out");
  assertRefused(await callAs(server, person, "GET", "/requests"), 401, "invalid_credential");
});
