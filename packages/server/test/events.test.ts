/**
 * The stream of events: what it tells, whom, and how it goes on after a connection broke.
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
import { cancel, NO_RATES, type Scene, startScene, submitBody } from "./support/scene.ts";
import {
  type ReviewedRequest,
  startTestProvider,
  type TestProvider,
} from "./support/test-provider.ts";
import { turns, until } from "./support/until.ts";

const scene = await startScene({ after });
const { server, clock, instance, reviewer } = scene;
const { store } = server.provider.context;

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

function follow(
  t: TestContext,
  {
    token = reviewer,
    last,
    at = server,
  }: { token?: string; last?: string; at?: TestProvider } = {},
): Promise<EventReader> {
  const resuming = last === undefined ? {} : { "last-event-id": last };
  return EventReader.open(t, at, { ...bearer(token), ...resuming });
}

/** Without the time of the answer. */
async function shown(id: string, token = reviewer): Promise<unknown> {
  const path = `/review/v1/requests/${id}`;
  return timeless((await server.call<ReviewedRequest>("GET", path, { token })).json);
}

function timeless(request: ReviewedRequest | null): unknown {
  const { now: _, ...rest } = request ?? {};
  return rest;
}

/** Lets time pass until something is told. */
async function pass<T>(told: Promise<T>, ms = 1_000): Promise<T> {
  let isTold = false;
  told.then(
    () => (isTold = true),
    () => (isTold = true),
  );
  await until(async () => {
    if (!isTold) clock.advance(ms);
    await turns();
    return isTold;
  }, "it is told as time passes");
  return told;
}

test("[ours.events.told] a stream tells what is opened, voted on and resolved, each as a read of it answers", async (t) => {
  const reader = await follow(t);
  const { headers } = reader.response;
  assert.deepEqual(
    ["content-type", "cache-control", "x-accel-buffering", "content-encoding"].map((name) =>
      headers.get(name),
    ),
    ["text/event-stream", "no-store", "no", null],
  );
  const ready = await reader.next("ready");
  assert.deepEqual([ready.data.resumed, ready.data.freezes], [false, []]);
  const exact = '{ "n": 9007199254740993,\n  "d": 1.10, "u": "\u202e<b>" }';
  const body = `{"tool":"pay","arguments":${exact},"timeout":"1h"}`;
  const { id } = (await submitBody(server, instance.token, body)).json;
  const opened = await reader.next("request.opened", id);
  assert.ok(opened.source.includes(`"arguments":${exact}`), opened.source);
  assert.deepEqual(timeless(opened.data.request), await shown(id));
  await server.decide(reviewer, id, "deny", { note: "no" });
  const resolved = await reader.next("request.resolved", id);
  assert.deepEqual(timeless(resolved.data.request), await shown(id));
  const cancelled = await server.submit(instance.token);
  await reader.next("request.opened", cancelled.id);
  await cancel(server, instance.token, cancelled.id);
  assert.equal(
    (await reader.next("request.resolved", cancelled.id)).data.request?.status,
    "cancelled",
  );
  assert.deepEqual(reader.requests, []);
});

test("[ours.events.told] votes and an own verdict that is held are told; that of somebody else is not", async (t) => {
  const other = await server.token({ kind: "reviewer", name: "other" });
  const { id } = await submitRequiring(scene, { quorum: 2 });
  const [mine, theirs] = [await follow(t), await follow(t, { token: other })];
  for (const reader of [mine, theirs]) await reader.next("ready");
  await server.decide(reviewer, id, "approve", { hold: "60s" });
  const held = await mine.next("request.changed", id);
  assert.deepEqual(timeless(held.data.request), await shown(id));
  assert.ok(held.data.request?.held);
  await server.decide(reviewer, id, "approve");
  for (const reader of [mine, theirs]) {
    const { request } = (await reader.next("request.changed", id)).data;
    assert.equal(request?.votes.length, 1);
    assert.equal(request?.held, undefined);
  }
  await server.call("DELETE", `/review/v1/requests/${id}/vote`, { token: reviewer });
  for (const reader of [mine, theirs]) {
    assert.deepEqual((await reader.next("request.changed", id)).data.request?.votes, []);
    assert.deepEqual(reader.requests, []);
  }
});

test("[ours.events.told] what nobody was asked makes no event, and other projects none", async (t) => {
  const project = "answered";
  const token = await server.token({ kind: "reviewer", project });
  const there = await server.instance(project);
  await enforce(server, policySaying("approve", "ls"), project);
  const reader = await follow(t, { token });
  await reader.next("ready");
  await server.submit(instance.token);
  assert.equal((await server.submit(there.token, { tool: "ls" })).status, "approved");
  const { id } = await server.submit(there.token);
  await reader.next("request.opened", id);
  assert.deepEqual(reader.requests, []);
});

test("[ours.events.told] a freeze is told when it is set and when it is lifted", async (t) => {
  const reader = await follow(t);
  await reader.next("ready");
  const body = { scope: "project", note: "Stop." };
  const frozen = await server.call<{ id: string }>("POST", "/review/v1/freezes", {
    token: reviewer,
    body,
  });
  const { freezes } = (await reader.next("freezes")).data;
  assert.deepEqual(
    freezes.map(({ id, note }) => [id, note]),
    [[frozen.json.id, "Stop."]],
  );
  assert.deepEqual((await (await follow(t)).next("ready")).data.freezes, freezes);
  await server.call("POST", `/review/v1/freezes/${frozen.json.id}/lift`, { token: reviewer });
  assert.deepEqual((await reader.next("freezes")).data.freezes, []);
});

test("[ours.events.told] what no signal told of is found by a look within a second", async (t) => {
  const reader = await follow(t);
  await reader.next("ready");
  const { id } = await submitRequiring(scene, { quorum: 2 });
  await reader.next("request.opened", id);
  await store.transact(async (tx) => {
    const sql = `insert into vote (project_id, request_id, reviewer_id, voted_at)
      select project_id, id, 'r', 1 from request where id = $1`;
    await tx.run(sql, [id]);
  });
  const changed = await pass(reader.next("request.changed", id));
  assert.equal(changed.data.request?.votes.length, 1);
  // As another process would, whose hint was lost.
  const deaf = { ...server.provider.context, wake: new LocalWake() };
  const row = await store.get("select project_id from request where id = $1", [id]);
  const projectId = String(row?.project_id);
  const owner = {
    kind: "instance",
    credentialId: "",
    tokenHash: "",
    projectId,
    instanceId: instance.id,
  } as const;
  await cancelApprovalRequest(deaf, owner, id);
  await pass(reader.next("request.resolved", id));
  const beat = await pass(reader.next("heartbeat"), 10_000);
  const count = await store.get(
    "select count(*) as n from request where status = 'pending' and project_id = $1",
    [projectId],
  );
  assert.equal(beat.data.pending, Number(count?.n));
});

test("[ours.events.alive] a stream says that it is there all the time, also while nothing happens and the server's clock stands still", async (t) => {
  const reader = await follow(t);
  const ready = await reader.next("ready");
  assert.ok(ready.data.pulse_ms > 0);
  for (let times = 0; times < 2; times++) {
    const { id, source } = await reader.next("pulse");
    assert.deepEqual([id, source], [undefined, "{}"]);
  }
  assert.equal(reader.lastEventId, ready.id);
});

test("[ours.events.resumed] after a break each request is told once, and only what has changed", async (t) => {
  const before = await server.submit(instance.token);
  const first = await follow(t);
  await first.next("ready");
  const seen = await server.submit(instance.token);
  await first.next("request.opened", seen.id);
  await first.close();
  const missed = await server.submit(instance.token);
  await server.decide(reviewer, before.id, "approve");
  const brief = await server.submit(instance.token);
  await server.decide(reviewer, brief.id, "deny");
  const second = await follow(t, { last: first.lastEventId ?? "" });
  assert.equal((await second.next("ready")).data.resumed, true);
  const { id } = await server.submit(instance.token);
  await second.next("request.opened", id);
  const expected = [
    `request.opened ${missed.id}`,
    `request.resolved ${before.id}`,
    `request.resolved ${brief.id}`,
  ];
  assert.deepEqual([...second.requests].sort(), expected.sort());

  await second.close();
  const third = await follow(t, { last: second.lastEventId ?? "" });
  assert.equal((await third.next("ready")).data.resumed, true);
  await cancel(server, instance.token, id);
  await third.next("request.resolved", id);
  assert.deepEqual(third.requests, []);
});

test("[ours.events.resumed] a server that was restarted goes on where the other one was", async (t) => {
  const own: Scene = await startScene(t);
  const following = (at: TestProvider, last?: string) =>
    follow(t, { token: own.reviewer, at, ...(last !== undefined && { last }) });
  const reader = await following(own.server);
  await reader.next("ready");
  const told = await own.server.submit(own.instance.token);
  await reader.next("request.opened", told.id);
  const stopping = own.server.stop();
  assert.equal((await reader.next("end")).data.reason, "shutdown");
  await reader.over;
  await stopping;
  const settings = NO_RATES;
  const again = await startTestProvider(t, { clock: own.clock, data: own.server.data, settings });
  const missed = await again.submit(own.instance.token);
  const resumed = await following(again, reader.lastEventId);
  assert.equal((await resumed.next("ready")).data.resumed, true);
  await resumed.next("request.opened", missed.id);
  assert.deepEqual(resumed.requests, []);
});

test("[ours.events.reset] where nothing can be resumed the reader is told to list anew", async (t) => {
  const other = await server.token({ kind: "reviewer", name: "resets" });
  const first = await follow(t, { token: other });
  const { id = "" } = await first.next("ready");
  const stale = id.replace(/^(1\.[^.]+)\.[^.]+/, "$1.zz");
  const flooded = "1.-";
  for (const last of [id, stale, flooded, "", "x".repeat(5_000), `${id}~`]) {
    // The first one is another reviewer's.
    const token = last === id ? reviewer : other;
    const reader = await follow(t, { token, last });
    assert.equal((await reader.next("reset")).data.reason, "unknown", last);
    assert.equal((await reader.next("ready")).data.resumed, false);
    await reader.close();
  }
  const twice = "/review/v1/events?last_event_id=a&last_event_id=b";
  assertRefused(
    await server.call("GET", twice, { token: reviewer }),
    400,
    "invalid_request",
    "last_event_id",
  );
});

test("[ours.events.bounded] what is too large, or would not arrive as it is, is only named", async (t) => {
  const reader = await follow(t);
  await reader.next("ready");
  for (const args of [`{"a":"${"x".repeat(300_000)}"}`, '{\r"a":1}']) {
    const body = `{"tool":"write","arguments":${args},"timeout":"1h"}`;
    const { id } = (await submitBody(server, instance.token, body)).json;
    assert.equal((await reader.next("request.opened", id)).data.request, null);
    await cancel(server, instance.token, id);
  }
});

test("[ours.events.bounded] a session or token has eight streams and no more", async (t) => {
  const token = await server.token({ kind: "reviewer", name: "many" });
  const readers: EventReader[] = [];
  for (let i = 0; i < 8; i++) readers.push(await follow(t, { token }));
  const path = "/review/v1/events";
  assertRefused(await server.call("GET", path, { token }), 429, "rate_limited");
  assert.equal((await server.call("GET", path, { token: reviewer })).status, 200);
  await readers[0]?.close();
  await until(
    async () => (await server.call("GET", path, { token })).status === 200,
    "there is room again",
  );
});

test("[ours.events.bounded] a reader who does not read is cut off", async (t) => {
  const project = "unread";
  const token = await server.token({ kind: "reviewer", project });
  const agent = await server.instance(project);
  const abort = new AbortController();
  t.after(() => abort.abort());
  const slow = await fetch(`${server.url}/review/v1/events`, {
    headers: bearer(token),
    signal: abort.signal,
  });
  const reader = await follow(t, { token });
  await reader.next("ready");
  const args = `{"a":"${"x".repeat(250_000)}"}`;
  const body = `{"tool":"write","arguments":${args},"timeout":"1h"}`;
  // What is left unread also fills the buffers of two sockets.
  for (let sent = 0; sent < 120; sent++) {
    const { id } = (await submitBody(server, agent.token, body)).json;
    await reader.next("request.opened", id);
    await cancel(server, agent.token, id);
    await reader.next("request.resolved", id);
  }
  await assert.rejects(slow.text(), /terminated/);
});

test("[ours.events.ended] a stream ends when its token is revoked, its session ends or its reader is disabled, and is told anew at another role", async (t) => {
  const token = await server.token({ kind: "reviewer", name: "revoked" });
  const [out, off] = [
    await newPerson(server, { login: "out" }),
    await newPerson(server, { login: "off" }),
  ];
  const readers = [
    await follow(t, { token }),
    await EventReader.open(t, server, asPage(out)),
    await EventReader.open(t, server, asPage(off)),
  ];
  for (const reader of readers) await reader.next("ready");
  await setReviewer(store, "revoked", { role: "admin" });
  const [first] = readers as [EventReader];
  assert.equal((await pass(first.next("reset"))).data.reason, "caller");
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

test("[ours.events.idle] neither a stream nor what a page asks for by itself keeps a session from ending", async (t) => {
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
