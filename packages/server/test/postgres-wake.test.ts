/**
 * Replicas that notify each other. Their clock does not advance, so no scheduled scan can answer
 * a poll; where notifications fail, the test moves it by the second between two scans.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type TestContext, test } from "node:test";
import type { ApprovalRequest } from "@countersign/protocol";
import { Report } from "../src/index.ts";
import { type CuttingProxy, startCuttingProxy } from "./support/cutting-proxy.ts";
import { ManualClock } from "./support/manual-clock.ts";
import { createDatabase, execute } from "./support/postgres.ts";
import { startReplicas } from "./support/replicas.ts";
import { cancel } from "./support/scene.ts";
import { startLongPoll } from "./support/start-long-poll.ts";
import { startTestProvider, type TestProvider } from "./support/test-provider.ts";
import { startTlsReceiver } from "./support/tls-receiver.ts";
import { turns, until } from "./support/until.ts";
import { ManualVerifications } from "./support/verifications.ts";
import { REGISTRATION_ID, SIGNING_SECRET } from "./support/webhook-scene.ts";

interface Pair {
  readonly url: string;
  readonly clock: ManualClock;
  readonly settings: Readonly<Record<string, string>>;
  readonly here: TestProvider;
  readonly there: TestProvider;
}

async function metric({ url }: TestProvider, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const [, value] = new RegExp(`^countersign_wake_${name} (\\d+)$`, "m").exec(text) ?? [];
  return Number(value);
}

async function listening(server: TestProvider): Promise<void> {
  await until(async () => (await metric(server, "listening")) === 1, "it listens");
}

/** Submits, without a notification to the other replica. */
async function submitUnheard(
  t: TestContext,
  server: TestProvider,
  token: string,
): Promise<ApprovalRequest> {
  const { mock } = t.mock.method(server.provider.context.wake, "signal", () => {});
  const submitted = await server.submit(token);
  mock.restore();
  return submitted;
}

async function startPair(t: TestContext): Promise<Pair> {
  const clock = new ManualClock();
  const started = await startReplicas(t, 2, undefined, { clock });
  const [here, there] = started.servers as [TestProvider, TestProvider];
  for (const server of [here, there]) await listening(server);
  return { url: started.url, clock, settings: started.settings, here, there };
}

test("[ours.replicas.woken] a poll at one replica is answered when another approves, denies or cancels, without any scan of its own", async (t) => {
  const { here, there } = await startPair(t);
  const { token } = await here.instance();
  const reviewer = await here.token({ kind: "reviewer" });
  for (const end of ["approve", "deny", "cancel"] as const) {
    const { id } = await submitUnheard(t, here, token);
    const { answer } = await startLongPoll(there, token, id);
    const ended = await (end === "cancel"
      ? cancel(here, token, id)
      : here.decide(reviewer, id, end));
    assert.equal(ended.status, 200);
    const { status, json } = await answer;
    assert.deepEqual([status, json], [200, await here.read(token, id)]);
    assert.notEqual(json.status, "pending");
  }
  assert.deepEqual([await metric(here, "notifications_sent_total")], [3]);
  assert.deepEqual([await metric(there, "notifications_received_total")], [3]);
  // Neither acts on its own, nor repeats a notification that it received.
  assert.deepEqual([await metric(here, "notifications_received_total")], [0]);
  assert.deepEqual([await metric(there, "notifications_sent_total")], [0]);
});

test("[ours.replicas.woken] a provisioning that joined another replica's verification is answered when that ends", async (t) => {
  const manual = new ManualVerifications();
  const receiver = await startTlsReceiver(t, manual.receive);
  const clock = new ManualClock();
  const settings = { webhook_allow_cidrs: "127.0.0.0/8" };
  const options = { clock, settings, ca: [receiver.certificate] };
  const { servers } = await startReplicas(t, 2, undefined, options);
  const [here, there] = servers as [TestProvider, TestProvider];
  for (const server of servers) await listening(server);
  const delivery = {
    type: "webhook",
    url: receiver.url("/hook"),
    registration_id: REGISTRATION_ID,
    signing_secret: SIGNING_SECRET,
  };
  const call = {
    token: await here.token({ kind: "provisioner" }),
    key: here.freshKey(),
    body: { delivery },
  };
  const first = here.call("POST", "/v1/instances", call);
  const { accept } = await manual.arrived(1);
  const joins = t.mock.method(there.provider.context.wake, "onSignal").mock;
  const second = there.call("POST", "/v1/instances", call);
  await until(() => joins.callCount() === 1, "the second call joins");
  await turns();
  accept();
  const answers = await Promise.all([first, second]);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 200],
  );
  assert.equal(answers[0]?.text, answers[1]?.text);
  assert.equal(manual.all.length, 1);
});

test("[ours.replicas.coalesced] a thousand decisions at once are one notification, at which every poll that is over is answered", async (t) => {
  const { here, there } = await startPair(t);
  const { token } = await here.instance();
  const requests = [];
  for (let i = 0; i < 4; i++) requests.push(await submitUnheard(t, here, token));
  const [pending = assert.fail(), ...over] = requests;
  const kept = await startLongPoll(there, token, pending.id);
  const polls = [];
  for (const { id } of over) polls.push(await startLongPoll(there, token, id));
  const { wake } = here.provider.context;
  const { mock } = t.mock.method(wake, "signal", () => {});
  for (const { id } of over) assert.equal((await cancel(here, token, id)).status, 200);
  mock.restore();
  for (let i = 0; i < 1_000; i++) {
    const decided = {
      requestId: randomUUID(),
      projectId: "0f9a8f1f1c114b9e",
      status: "approved" as const,
      by: "reviewer" as const,
      notifies: undefined,
    };
    wake.signal({ kind: "resolved", ...decided });
  }
  for (const { answer } of polls) assert.equal((await answer).json.status, "cancelled");
  assert.equal(await metric(here, "notifications_sent_total"), 1);
  assert.equal((await cancel(here, token, pending.id)).status, 200);
  assert.equal((await kept.answer).json.status, "cancelled");
  assert.equal(await metric(here, "notifications_sent_total"), 2);
});

test("[ours.replicas.untrusted] a notification from another sender answers no poll, and breaks nothing", async (t) => {
  const { url, here, there } = await startPair(t);
  const { token } = await here.instance();
  const { id } = await submitUnheard(t, here, token);
  const { answer } = await startLongPoll(there, token, id);
  let isAnswered = false;
  answer.finally(() => {
    isAnswered = true;
  });
  const messages = [`1 ${randomUUID()} r:${id}`, `1 ${randomUUID()} *`];
  const garbage = ["", "x".repeat(7_999), `1 me r:${id}`, "\u{1f600} *", `r:${id}`, "{}"];
  const before = await metric(there, "notifications_received_total");
  await execute(
    url,
    ...[...garbage, ...messages].map((text) => `notify countersign_wake, '${text}'`),
    "notify countersign_wake",
  );
  const received = before + messages.length;
  await until(
    async () => (await metric(there, "notifications_received_total")) === received,
    "a notification in the format of a replica is accepted",
  );
  await turns();
  assert.equal(isAnswered, false);
  assert.equal((await cancel(here, token, id)).status, 200);
  assert.equal((await answer).json.status, "cancelled");
});

interface Deaf extends Pair {
  readonly proxy: CuttingProxy;
  /** The lines that it wrote to its log. */
  readonly log: Record<string, unknown>[];
}

/** A pair whose second replica listens through a proxy. */
async function startDeaf(t: TestContext, listen: CuttingProxy["listen"]): Promise<Deaf> {
  const clock = new ManualClock();
  const url = await createDatabase();
  const proxy = await startCuttingProxy(t, url);
  proxy.listen = listen;
  const { servers, settings } = await startReplicas(t, 1, url, { clock });
  const log: Deaf["log"] = [];
  const write = (line: string) => void log.push(JSON.parse(line));
  const there = await startTestProvider(t, {
    clock,
    report: new Report("info", { write }),
    settings: { ...settings, database_direct_url: proxy.url },
  });
  const [here = assert.fail()] = servers;
  await listening(here);
  return { url, clock, settings, here, there, proxy, log };
}

async function assertAnsweredByPoll({ clock, here, there }: Deaf): Promise<void> {
  const { token } = await here.instance();
  const { id } = await here.submit(token);
  const { answer } = await startLongPoll(there, token, id);
  assert.equal((await cancel(here, token, id)).status, 200);
  clock.advance(1_000);
  assert.equal((await answer).json.status, "cancelled");
}

test("[ours.replicas.not-notified] while the listening connection is cut, a scan every second answers polls, and then notifications work again", async (t) => {
  const pair = await startDeaf(t, undefined);
  const { here, there, proxy, log } = pair;
  await listening(there);
  proxy.isDown = true;
  proxy.cutAll();
  await until(async () => (await metric(there, "listening")) === 0, "the cut is noticed");
  await assertAnsweredByPoll(pair);
  assert.equal((await fetch(`${there.url}/readyz`)).status, 200);
  proxy.isDown = false;
  await listening(there);
  const { token } = await here.instance();
  const { id } = await here.submit(token);
  const { answer } = await startLongPoll(there, token, id);
  assert.equal((await cancel(here, token, id)).status, 200);
  assert.equal((await answer).json.status, "cancelled");
  const events = log.map(({ event }) => event).filter((event) => `${event}`.startsWith("wake."));
  assert.deepEqual(events, ["wake.listening", "wake.lost", "wake.listening"]);
});

test("[ours.replicas.not-notified] if LISTEN is rejected, a scan every second answers polls, and the log states the fix once", async (t) => {
  const pair = await startDeaf(t, "refused");
  const { there, log } = pair;
  const lost = () => log.filter(({ event }) => event === "wake.lost");
  await until(() => lost().length > 0, "the server logs it");
  assert.equal(await metric(there, "listening"), 0);
  await assertAnsweredByPoll(pair);
  await assertAnsweredByPoll(pair);
  assert.equal(lost().length, 1);
  assert.match(String(lost()[0]?.error), /database_direct_url.*syntax error/);
});

test("[ours.replicas.not-notified] a decision made while no replica listened is read as soon as one listens again", async (t) => {
  const pair = await startDeaf(t, undefined);
  const { here, there, proxy } = pair;
  await listening(there);
  const { token } = await here.instance();
  const { id } = await submitUnheard(t, here, token);
  const { answer } = await startLongPoll(there, token, id);
  proxy.isDown = true;
  proxy.cutAll();
  await until(async () => (await metric(there, "listening")) === 0, "the cut is noticed");
  assert.equal((await cancel(here, token, id)).status, 200);
  await until(
    async () => (await metric(here, "notifications_sent_total")) === 1,
    "the notification is sent",
  );
  proxy.isDown = false;
  assert.equal((await answer).json.status, "cancelled");
});
