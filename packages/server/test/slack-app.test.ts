/**
 * A channel of a Slack app posts messages about pending requests, and updates each message when its
 * request is resolved.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import {
  type Channel,
  channelOf,
  newChannel,
  passTime,
  startChannelScene,
  tryChannel,
  untilNotified,
} from "./support/channel-scene.ts";
import { BOT_TOKEN, type FakeSlack, OPS, shownText, startFakeSlack } from "./support/fake-slack.ts";
import { freeze } from "./support/freezes.ts";
import { enforce, policyOf } from "./support/policies.ts";
import { cancel } from "./support/scene.ts";
import { projectPath } from "./support/test-projects.ts";
import { until } from "./support/until.ts";

const CHANNELS = "/review/v1/channels";

const TARGET = { kind: "slack_app", url: undefined, token: BOT_TOKEN, slack_channel: OPS };

async function startSlackScene(t: TestContext, settings: Readonly<Record<string, string>> = {}) {
  const slack = await startFakeSlack(t);
  const scene = await startChannelScene(t, {
    ca: [slack.receiver.certificate],
    settings: { slack_api_url: slack.apiUrl, ...settings },
  });
  return { ...scene, slack };
}

type SlackScene = Awaited<ReturnType<typeof startSlackScene>>;

/** A call that a message announces. */
async function announced(scene: SlackScene, fields: object = {}) {
  const { slack, server, instance } = scene;
  const before = (await posts(scene)).length;
  const request = await server.submit(instance.token, fields);
  const isRecorded = async () => (await posts(scene)).length > before;
  await untilNotified(scene, isRecorded, "the message is posted and recorded");
  const message = slack.messages.at(-1);
  assert.ok(message);
  return { request, message };
}

/** Lets seconds pass, because the outbox scans for outdated messages every second. */
async function untilScanned(
  scene: SlackScene,
  condition: () => boolean | Promise<boolean>,
  what: string,
): Promise<void> {
  await until(async () => {
    await passTime(scene, 1_000);
    return condition();
  }, what);
}

async function untilUpdated(scene: SlackScene, count: number): Promise<void> {
  const isUpdated = ({ edits }: FakeSlack["messages"][number]) => edits > 0;
  const all = () => scene.slack.messages.filter(isUpdated).length === count;
  await untilScanned(scene, all, `${count} messages are updated`);
}

async function posts({ server }: Pick<SlackScene, "server">) {
  const rows = await server.provider.context.store.all("select * from channel_post");
  return rows.map(({ closed_by }) => closed_by);
}

function change({ server, admin }: SlackScene, { id }: Channel, body: object) {
  return server.call<Channel>("PATCH", `${CHANNELS}/${id}`, { token: admin, body });
}

test("[ours.slack.message] a message states the call, the rule, what an approval needs, the exact arguments and a link", async (t) => {
  const scene = await startSlackScene(t);
  const rule =
    '{ id: prod, match: { tool: "*" }, then: ask, note: Deploys to production, ' +
    "ask: { from: [group:ops], quorum: 2, note: required, confirm: passkey } }";
  await enforce(scene.server, policyOf(rule));
  await newChannel(scene, "ops", { ...TARGET, include_arguments: true });
  const { request, message } = await announced(scene, {
    tool: "p\u0430y",
    arguments: { note: "<!channel> `x`\u202E" },
  });
  assert.equal(message.channel, OPS);
  const lines = shownText(message).split("\n");
  assert.match(lines[0] ?? "", /^`p\\u\{0430\}y` of `[^`]+` waits for a decision\.$/);
  assert.deepEqual(lines.slice(1), [
    `Time left: 1h (until ${request.deadline_at})`,
    "Why: `Deploys to production` (rule `prod`)",
    "Needs: 2 approvals of `group:ops` with a passkey and a note",
    "Contains confusable characters. They are written as code points such as \\u{0430}.",
    "Arguments:",
    '{"note":"<!channel> `x`\\u{202E}"}',
    `https://countersign.example${await projectPath(scene.server)}/inbox/${request.id}`,
  ]);
  const [preformatted] = message.blocks.filter(({ type }) => type === "rich_text");
  assert.deepEqual(preformatted?.elements?.[0], {
    type: "rich_text_preformatted",
    elements: [{ type: "text", text: '{"note":"<!channel> `x`\\u{202E}"}' }],
  });
});

test("[ours.slack.message] truncated arguments are marked, and hostile names of any length stay within the limits of Slack", async (t) => {
  const scene = await startSlackScene(t);
  const note = "`".repeat(300);
  await enforce(
    scene.server,
    policyOf(`{ id: r, match: { tool: "*" }, then: ask, note: '${note}' }`),
  );
  await newChannel(scene, "ops", { ...TARGET, include_arguments: true });
  const { message } = await announced(scene, {
    tool: "`&<".repeat(60),
    arguments: { text: "\u202E".repeat(3_000) },
  });
  assert.match(shownText(message), /\nArguments, only the first \d+ of 3011 characters:\n/);
});

test("[ours.slack.update] the message states outcome, decider, time and note, however the request was resolved", async (t) => {
  const scene = await startSlackScene(t);
  const { server, instance, reviewer, clock } = scene;
  await newChannel(scene, "ops", TARGET);
  const approved = await announced(scene);
  const denied = await announced(scene);
  const cancelled = await announced(scene);
  const frozen = await announced(scene);
  const expired = await announced(scene, { timeout: "5m" });
  const note = { note: "looks *fine*" };
  assert.equal((await server.decide(reviewer, approved.request.id, "approve", note)).status, 200);
  assert.equal((await server.decide(reviewer, denied.request.id, "deny")).status, 200);
  await cancel(server, instance.token, cancelled.request.id);
  await untilUpdated(scene, 3);
  clock.advance(5 * 60_000);
  await untilUpdated(scene, 4);
  assert.equal((await freeze(server, scene.admin, { scope: "project" })).status, 201);
  await untilUpdated(scene, 5);
  const first = ({ blocks }: typeof approved.message) => shownText({ blocks }).split("\n");
  assert.match(first(approved.message)[0] ?? "", /^Approved by `reviewer` at \d{4}-/);
  assert.equal(first(approved.message)[1], "Note: `looks *fine*`");
  assert.match(first(approved.message)[2] ?? "", /^Call: `deploy` of `[^`]+`$/);
  assert.match(first(denied.message)[0] ?? "", /^Denied by `reviewer` at \d{4}-/);
  assert.match(first(cancelled.message)[0] ?? "", /^Cancelled by the agent at \d{4}-/);
  assert.match(first(frozen.message)[0] ?? "", /^Denied by a freeze at \d{4}-/);
  assert.match(first(expired.message)[0] ?? "", /^Expired at \d{4}-/);
  assert.match(approved.message.text, /^Approved by `reviewer`: `deploy`$/);
  assert.deepEqual(await posts(scene), Array(5).fill("updated"));
});

test("[ours.slack.update] a reminder is a second message, and both are updated", async (t) => {
  const scene = await startSlackScene(t);
  await newChannel(scene, "ops", { ...TARGET, remind_before: "5m" });
  const { request } = await announced(scene, { timeout: "20m" });
  scene.clock.advance(15 * 60_000 + 1_000);
  await untilScanned(scene, () => scene.slack.messages.length === 2, "the reminder");
  assert.match(shownText(scene.slack.messages[1] as never), /^\*Reminder\*\n/);
  await scene.server.decide(scene.reviewer, request.id, "deny");
  await untilUpdated(scene, 2);
});

test("[ours.slack.update] a request that is resolved while its message is in flight is updated afterwards", async (t) => {
  const scene = await startSlackScene(t);
  await newChannel(scene, "ops", TARGET);
  const { server, instance, slack } = scene;
  let cancelling: Promise<unknown> | undefined;
  let requestId = "";
  slack.fault = (method) => {
    if (method === "chat.postMessage") cancelling = cancel(server, instance.token, requestId);
    return undefined;
  };
  const submitted = await server.submit(instance.token);
  requestId = submitted.id;
  await untilNotified(scene, () => slack.messages.length === 1, "the message is posted");
  await cancelling;
  await untilUpdated(scene, 1);
});

test("[ours.slack.retried] updates and messages are retried after a rate limit, an outage and a lost answer", async (t) => {
  const scene = await startSlackScene(t);
  const { server, reviewer, slack } = scene;
  const channel = await newChannel(scene, "ops", TARGET);
  const { request, message } = await announced(scene);
  const faults = [{ status: 429, retryAfter: "30" }, { status: 503 }, { isLost: true }];
  slack.fault = () => faults.shift();
  await server.decide(reviewer, request.id, "deny");
  const isLimited = async () => (await channelOf(scene, channel.id)).last?.status === 429;
  await untilScanned(scene, () => isLimited(), "the rate limit");
  const calls = slack.calls.length;
  await passTime(scene, 25_000);
  assert.equal(slack.calls.length, calls);
  await passTime(scene, 20_000);
  await untilScanned(scene, async () => (await posts(scene))[0] === "updated", "the update");
  assert.match(message.text, /^Denied/);
  // The lost answer: the same update arrives twice.
  assert.equal(message.edits, 2);
  assert.equal((await channelOf(scene, channel.id)).failures, 0);
});

test("[ours.slack.states] a revoked token, an archived channel and a missing app are states of the channel with a fix, and nothing is lost", async (t) => {
  const scene = await startSlackScene(t);
  const { server, slack, admin, reviewer } = scene;
  const channel = await newChannel(scene, "ops", TARGET);
  const { request, message } = await announced(scene);
  const testOf = async () => {
    const path = `${CHANNELS}/${channel.id}/test`;
    const { json } = await server.call<{ outcome: string; message: string }>("POST", path, {
      token: admin,
    });
    return `${json.outcome}: ${json.message}`;
  };
  slack.tokens.clear();
  assert.equal(
    await testOf(),
    "rejected:invalid_auth: Slack does not accept the bot token. Set the current token of the app.",
  );
  await server.decide(reviewer, request.id, "deny");
  const last = async () => (await channelOf(scene, channel.id)).failures;
  await untilScanned(scene, async () => (await last()) >= 1, "the update fails");
  slack.tokens.add("xoxb-1234567890-NEWTOKEN");
  slack.archived.add(OPS);
  const changed = await change(scene, channel, { token: "xoxb-1234567890-NEWTOKEN" });
  assert.equal(changed.status, 200, changed.text);
  assert.match(await testOf(), /^rejected:is_archived: The Slack channel is archived\./);
  slack.archived.clear();
  slack.conversations.clear();
  assert.match(await testOf(), /^rejected:channel_not_found: Slack has no such channel/);
  slack.fault = () => ({ error: "words <b>of</b> Slack" });
  assert.equal(await testOf(), "rejected:other: Slack rejected the message.");
  slack.fault = () => undefined;
  slack.conversations.add(OPS);
  assert.match(await testOf(), /^sent: /);
  await untilUpdated(scene, 1);
  assert.match(message.text, /^Denied/);
});

test("[ours.slack.states] a deleted message, and a message in a conversation that was left, stop no other message", async (t) => {
  const scene = await startSlackScene(t);
  const { server, slack, reviewer } = scene;
  const channel = await newChannel(scene, "ops", TARGET);
  const deleted = await announced(scene);
  const left = await announced(scene);
  slack.messages.shift();
  await server.decide(reviewer, deleted.request.id, "deny");
  await untilScanned(
    scene,
    async () => (await posts(scene)).includes("gone"),
    "the deleted message is given up",
  );
  assert.equal((await channelOf(scene, channel.id)).last?.outcome, "gone:message_not_found");
  slack.conversations.clear();
  slack.conversations.add("C0MOVED001");
  assert.equal((await change(scene, channel, { slack_channel: "C0MOVED001" })).status, 200);
  await server.decide(reviewer, left.request.id, "deny");
  await untilScanned(
    scene,
    async () => (await posts(scene)).every((by) => by === "gone"),
    "the message in the other conversation is given up",
  );
  const { message } = await announced(scene);
  assert.equal(message.channel, "C0MOVED001");
  assert.equal((await channelOf(scene, channel.id)).failures, 0);
});

test("[ours.slack.input] the token and the Slack channel are checked, encrypted and never returned", async (t) => {
  const scene = await startSlackScene(t);
  const { server, admin } = scene;
  const good = { name: "ops", ...TARGET };
  const wrong = [
    ["token", { ...good, token: undefined }],
    ["token", { ...good, token: "xoxp-1234567890-user" }],
    ["token", { ...good, token: "xoxb-1\r\nx: y" }],
    ["slack_channel", { ...good, slack_channel: undefined }],
    ["slack_channel", { ...good, slack_channel: "#ops" }],
    ["url", { ...good, url: "https://hooks.slack.com/a" }],
    ["slack_channel", { ...good, kind: "slack", token: undefined, url: "https://a.example/b" }],
  ] as const;
  for (const [param, body] of wrong) {
    const { status, json } = await tryChannel(scene, body);
    assert.deepEqual([status, json.error?.param], [400, param], JSON.stringify(body));
  }
  const made = await newChannel(scene, "ops", TARGET);
  assert.equal(made.target, `Slack channel ${OPS}`);
  const { store } = server.provider.context;
  const rows = [
    ...(await store.all("select * from channel")),
    ...(await store.all("select * from audit_entry")),
  ];
  const listed = await server.call("GET", CHANNELS, { token: admin });
  for (const text of [JSON.stringify(rows), listed.text, JSON.stringify(made)]) {
    assert.doesNotMatch(text, /xoxb|SECRETTOKEN/);
  }
});

test("[ours.notify.door] the Slack API is reached through the outbound guard, at the address of the operator", async (t) => {
  const resolver = { resolve: async () => ["10.0.0.1"] };
  const scene = await startChannelScene(t, {
    resolver,
    settings: { webhook_allow_cidrs: "", slack_api_url: "https://slack.example.com/api" },
  });
  const { server, admin } = scene;
  const { id } = await newChannel(scene, "ops", TARGET);
  const path = `${CHANNELS}/${id}/test`;
  const { json } = await server.call<{ outcome: string } & ErrorResponse>("POST", path, {
    token: admin,
  });
  assert.equal(json.outcome, "refused");
  const elsewhere = await tryChannel(scene, { name: "b", ...TARGET, slack_api_url: "https://a.b" });
  assert.deepEqual([elsewhere.status, elsewhere.json.error.param], [400, "slack_api_url"]);
});

test("[ours.slack.erased] the messages of a request are purged with it", async (t) => {
  const scene = await startSlackScene(t, { retention: "168h" });
  await newChannel(scene, "ops", TARGET);
  const { request } = await announced(scene);
  await cancel(scene.server, scene.instance.token, request.id);
  await untilUpdated(scene, 1);
  scene.clock.advance(169 * 3_600_000);
  await until(async () => {
    // The purge may have started before the time passed, and then runs again at its interval.
    await passTime(scene, 60_000);
    return (await posts(scene)).length === 0;
  }, "they are purged");
});
