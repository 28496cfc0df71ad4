/**
 * A channel of a Telegram bot posts and updates messages, and linked users decide there. The server
 * polls the updates of the bot.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Report } from "../src/report.ts";
import {
  announce,
  assertRejected,
  assertSecret,
  assertStates,
  type BotScene,
  newCode,
  postsOf,
  startBotScene,
  testOf,
  untilPassed,
} from "./support/bot-scene.ts";
import { channelOf } from "./support/channel-scene.ts";
import {
  BOT_TOKEN,
  FAULTS,
  type FakeTelegram,
  OPS,
  press,
  startFakeTelegram,
  type TelegramMessage,
  write,
} from "./support/fake-telegram.ts";
import { until } from "./support/until.ts";

const TARGET = { kind: "telegram", token: BOT_TOKEN, conversation: String(OPS) };

const ANA = 777;

async function startScene(t: TestContext, report?: Report) {
  const telegram = await startFakeTelegram(t);
  const settings = { telegram_api_url: telegram.receiver.url("") };
  return { ...(await startBotScene(t, telegram, TARGET, { settings, report })), telegram };
}

type Scene = BotScene & { readonly telegram: FakeTelegram };

function newest({ telegram }: Scene, chat = OPS): TelegramMessage {
  const message = telegram.messages.findLast((each) => each.chat === chat);
  return message ?? assert.fail("no message");
}

async function polled(scene: Scene): Promise<void> {
  await untilPassed(scene, () => scene.telegram.held !== undefined, "a request for updates");
}

async function link(scene: Scene): Promise<void> {
  await polled(scene);
  write(scene.telegram, await newCode(scene), ANA);
  const isLinked = () => /linked to the reviewer/.test(scene.telegram.messages.at(-1)?.text ?? "");
  await until(isLinked, "the account is linked");
}

test("[ours.bots.update] a Telegram message shows the call with its exact arguments, and then the decision", async (t) => {
  const scene = await startScene(t);
  const { server, reviewer } = scene;
  const request = await announce(scene, { tool: "<b>deploy</b>", arguments: { a: "<&>\u202E" } });
  const message = newest(scene);
  const lines = message.text.split("\n");
  assert.match(lines[0] ?? "", /^<b>deploy<\/b> of .+ waits for a decision\.$/);
  assert.equal(lines.at(-1), '{"a":"<&>\\u{202E}"}');
  const labels = () => message.buttons.map(({ text }) => text);
  assert.deepEqual(labels(), ["Approve", "Deny", "Open in Countersign"]);
  await server.decide(reviewer, request.id, "deny", { note: "not <i>now</i>" });
  await untilPassed(scene, () => message.edits > 0, "the update");
  assert.match(message.text, /^Denied by reviewer at .+\nNote: not <i>now<\/i>\n/);
  assert.deepEqual(labels(), ["Open in Countersign"]);
});

test("[ours.bots.decide] a user links an account in a private chat and approves in the group", async (t) => {
  const scene = await startScene(t);
  const { telegram, server, instance } = scene;
  const request = await announce(scene);
  await polled(scene);
  press(telegram, newest(scene), "Approve", ANA);
  await until(() => telegram.alerts.length === 1, "an explanation");
  assert.match(telegram.alerts[0]?.text ?? "", /not linked.*private chat/);
  await link(scene);
  press(telegram, newest(scene), "Approve", ANA);
  await until(
    async () => (await server.read(instance.token, request.id)).status === "approved",
    "the approval",
  );
  await until(() => /^The request is approved/.test(telegram.alerts[1]?.text ?? ""), "a reply");
});

test("[ours.bots.decide] Deny in Telegram asks for a note in the private chat", async (t) => {
  const scene = await startScene(t);
  const { telegram, server, instance } = scene;
  await link(scene);
  const request = await announce(scene);
  const message = newest(scene);
  press(telegram, message, "Deny", ANA);
  await until(() => newest(scene, ANA).isReplyForced, "the question");
  write(telegram, "a message that is not a reply", ANA);
  write(telegram, "not on Friday", ANA + 1, newest(scene, ANA));
  write(telegram, "not on Friday", ANA, newest(scene, ANA));
  const read = () => server.read(instance.token, request.id);
  await until(async () => (await read()).status === "denied", "the denial");
  assert.equal((await read()).decision?.note, "not on Friday");
  await untilPassed(scene, () => /Note: not on Friday/.test(message.text), "the update");
});

test("[ours.bots.states] errors of Telegram are states of the channel, and delay no other message", async (t) => {
  const scene = await startScene(t);
  await assertStates(scene, {
    unauthorized: [FAULTS.unauthorized, /^rejected:telegram_unauthorized: .*@BotFather\.$/],
    unknownConversation: [FAULTS.unknownChat, /^rejected:chat_not_found: .*conversation/],
    deleted: [FAULTS.deleted, "telegram_message_deleted"],
    limited: FAULTS.limited,
  });
  const request = await announce(scene);
  scene.bot.faults.push(FAULTS.unchanged);
  await scene.server.decide(scene.reviewer, request.id, "deny");
  const isUpdated = async () => (await postsOf(scene)).at(-1) === "updated";
  await untilPassed(scene, isUpdated, "an unchanged message");
  assert.equal((await channelOf(scene, scene.channel.id)).failures, 0);
  assert.equal(newest(scene).edits, 0);
});

test("[ours.bots.input] the token and chat of a Telegram bot are checked, encrypted and never returned", async (t) => {
  const scene = await startScene(t);
  await assertRejected(scene, TARGET, [
    ["token", { token: undefined }],
    ["token", { token: "1234567890" }],
    ["token", { token: `${BOT_TOKEN}/../x` }],
    ["conversation", { conversation: undefined }],
    ["conversation", { conversation: "ops" }],
    ["url", { url: "https://a.example" }],
    ["public_key", { public_key: "00" }],
  ]);
  assert.equal(scene.channel.target, `Telegram chat ${OPS}`);
  await assertSecret(scene, /AAAAAAAA|SECRET/);
});

test("[ours.bots.input] the token in the URLs of Telegram is in no log, metric or answer", async (t) => {
  const lines: string[] = [];
  const report = new Report("debug", { write: (line) => void lines.push(line) });
  const scene = await startScene(t, report);
  const { server, telegram } = scene;
  await link(scene);
  telegram.faults.push(FAULTS.unauthorized, { status: 503 });
  const tested = [await testOf(scene), await testOf(scene)];
  telegram.held?.response.destroy();
  await announce(scene);
  const metrics = await server.call("GET", "/metrics");
  assert.ok(lines.length > 0);
  assert.doesNotMatch([...lines, ...tested, metrics.text].join("\n"), /SECRET|AAAAAAAA/);
});
