/** Channels that send a message about each decision: who decided, when, and the note. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  type ChannelScene,
  newChannel,
  passTime,
  startChannelScene,
  tryChannel,
} from "./support/channel-scene.ts";
import { BOT_TOKEN, OPS, shownText, startFakeSlack } from "./support/fake-slack.ts";
import { enforce, policyOf } from "./support/policies.ts";
import { cancel } from "./support/scene.ts";
import { startTestProvider } from "./support/test-provider.ts";
import { until } from "./support/until.ts";

const CHANNELS = "/review/v1/channels";

interface Sent {
  readonly type: string;
  readonly url: string;
  readonly request: { readonly id: string; readonly tool: string };
  readonly decision?: {
    readonly status: string;
    readonly decided_by: string;
    readonly decider?: string;
    readonly note?: string;
  };
}

function sent(scene: Pick<ChannelScene, "at">, path = "/hook"): readonly Sent[] {
  return scene.at(path).map(({ body }) => JSON.parse(body.toString()) as Sent);
}

async function untilSent(scene: ChannelScene, type: string, count: number): Promise<void> {
  await until(async () => {
    await passTime(scene, 1_000);
    return sent(scene).filter((each) => each.type === type).length === count;
  }, `${count} messages of the type ${type}`);
}

async function startHook(t: TestContext, fields: object = {}): Promise<ChannelScene> {
  const scene = await startChannelScene(t);
  await newChannel(scene, "hook", { kind: "webhook", on_decision: true, ...fields });
  return scene;
}

test("[ours.notify.decisions] a message states outcome, decider and note, however the request was resolved", async (t) => {
  const scene = await startHook(t);
  const { server, instance, reviewer, clock } = scene;
  const denied = await server.submit(instance.token);
  const cancelled = await server.submit(instance.token);
  const expired = await server.submit(instance.token, { timeout: "5m" });
  await untilSent(scene, "request.waiting", 3);
  assert.equal((await server.decide(reviewer, denied.id, "deny", { note: "no" })).status, 200);
  await cancel(server, instance.token, cancelled.id);
  await untilSent(scene, "request.resolved", 2);
  clock.advance(5 * 60_000);
  await untilSent(scene, "request.resolved", 3);
  const decided = sent(scene).filter(({ type }) => type === "request.resolved");
  const of = (id: string) => decided.find(({ request }) => request.id === id)?.decision;
  assert.equal(of(denied.id)?.status, "denied");
  assert.equal(of(denied.id)?.decider, "reviewer");
  assert.equal(of(denied.id)?.note, "no");
  assert.equal(of(cancelled.id)?.status, "cancelled");
  assert.equal(of(expired.id)?.status, "expired");
  assert.match(decided[0]?.url ?? "", /\/inbox\//);
});

test("[ours.notify.decisions] channels without the option, and decisions of a policy, cause no message", async (t) => {
  const scene = await startHook(t);
  const { server, instance, reviewer } = scene;
  await newChannel(scene, "other", { kind: "webhook" });
  const { id } = await server.submit(instance.token);
  await untilSent(scene, "request.waiting", 1);
  await server.decide(reviewer, id, "approve");
  await untilSent(scene, "request.resolved", 1);
  assert.equal(sent(scene, "/other").length, 1);
  await enforce(server, policyOf('{ id: no, match: { tool: "*" }, then: deny }'));
  await server.submit(instance.token);
  await passTime(scene, 5_000);
  assert.equal(sent(scene).length, 2);
});

test("[ours.notify.instances] a channel of one instance sends nothing about others", async (t) => {
  const scene = await startChannelScene(t);
  const { server, instance } = scene;
  const other = await server.instance();
  const fields = { kind: "webhook", on_decision: true, instances: [instance.id] };
  await newChannel(scene, "hook", fields);
  await server.submit(other.token);
  const { id } = await server.submit(instance.token);
  await untilSent(scene, "request.waiting", 1);
  assert.equal(sent(scene)[0]?.request.id, id);
  const body = { name: "two", kind: "webhook", url: scene.receiver.url("/two") };
  const foreign = await server.instance("elsewhere");
  const refused = await tryChannel(scene, { ...body, instances: [foreign.id] });
  assert.equal(refused.status, 400, refused.text);
  assert.match(refused.json.error.message, /instances/);
});

test("[ours.notify.decisions] a Slack app replies in the thread of the message about the request", async (t) => {
  const slack = await startFakeSlack(t);
  const scene = await startChannelScene(t, {
    ca: [slack.receiver.certificate],
    settings: { slack_api_url: slack.apiUrl },
  });
  const { server, instance, reviewer } = scene;
  const target = { kind: "slack_app", url: undefined, token: BOT_TOKEN, slack_channel: OPS };
  await newChannel(scene, "ops", { ...target, on_decision: true });
  const { id } = await server.submit(instance.token);
  await until(async () => {
    await passTime(scene, 1_000);
    return slack.messages.length === 1;
  }, "the message");
  await server.decide(reviewer, id, "approve", { note: "fine" });
  await until(async () => {
    await passTime(scene, 1_000);
    return slack.messages.length === 2;
  }, "the reply");
  const [message, reply] = slack.messages;
  assert.ok(message && reply);
  assert.equal(reply.thread, message.ts);
  assert.match(shownText(reply), /^Approved by `reviewer`/);
  assert.match(shownText(reply), /Note: `fine`/);
});

test("[ours.notify.decisions] a decision before a restart is sent after it", async (t) => {
  const scene = await startHook(t);
  const { server, instance, reviewer } = scene;
  const { id } = await server.submit(instance.token);
  await untilSent(scene, "request.waiting", 1);
  await server.decide(reviewer, id, "approve");
  await server.stop();
  const restarted = await startTestProvider(t, {
    clock: scene.clock,
    data: server.data,
    ca: [scene.receiver.certificate],
    settings: { webhook_allow_cidrs: "127.0.0.0/8", public_url: "https://countersign.example" },
  });
  await untilSent({ ...scene, server: restarted }, "request.resolved", 1);
});

test("[ours.notify.interval] a channel with digests sends one summary of pending requests in its interval", async (t) => {
  const scene = await startChannelScene(t);
  await newChannel(scene, "hook", { kind: "webhook", digest: "10m" });
  const { server, instance, reviewer } = scene;
  const window = { timeout: "24h" };
  const decided = await server.submit(instance.token, window);
  await server.submit(instance.token, window);
  await server.submit(instance.token, window);
  await passTime(scene, 9 * 60_000);
  assert.equal(sent(scene).length, 0);
  assert.equal((await server.decide(reviewer, decided.id, "approve")).status, 200);
  await untilSent(scene, "requests.waiting", 1);
  const [summary] = scene.at("/hook");
  assert.equal(JSON.parse(summary?.body.toString() ?? "{}").count, 2);
  await passTime(scene, 20 * 60_000);
  assert.equal(sent(scene).length, 1, "nothing new is pending");
});

test("[ours.notify.decisions] a channel that is disabled, or stops sending decisions, sends no earlier ones", async (t) => {
  const scene = await startHook(t);
  const { server, instance, reviewer, admin } = scene;
  const { id } = await server.submit(instance.token);
  await untilSent(scene, "request.waiting", 1);
  const { json } = await server.call<{ channels: { id: string }[] }>("GET", CHANNELS, {
    token: admin,
  });
  const path = `${CHANNELS}/${json.channels[0]?.id}`;
  for (const body of [{ on_decision: false }, { on_decision: true }]) {
    assert.equal((await server.call("PATCH", path, { token: admin, body })).status, 200);
  }
  assert.equal((await server.decide(reviewer, id, "approve")).status, 200);
  await passTime(scene, 5_000);
  assert.equal(sent(scene).length, 1);
});

test("[ours.notify.interval] a decision does not postpone a digest", async (t) => {
  const scene = await startHook(t, { digest: "10m" });
  const { server, instance, reviewer } = scene;
  const window = { timeout: "24h" };
  const start = scene.clock.now();
  const { id } = await server.submit(instance.token, window);
  await server.submit(instance.token, window);
  await passTime(scene, 8 * 60_000);
  assert.equal((await server.decide(reviewer, id, "approve")).status, 200);
  await untilSent(scene, "request.resolved", 1);
  await passTime(scene, 2 * 60_000);
  await untilSent(scene, "requests.waiting", 1);
  assert.ok(scene.clock.now() < start + 12 * 60_000, "the interval of the first request");
});
