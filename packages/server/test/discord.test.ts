/** A channel of a Discord bot posts and updates messages, and linked users decide there. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  announce,
  assertRejected,
  assertSecret,
  assertStates,
  type BotScene,
  newCode,
  startBotScene,
  untilPassed,
} from "./support/bot-scene.ts";
import {
  BOT_TOKEN,
  buttonsOf,
  type DiscordMessage,
  FAULTS,
  type FakeDiscord,
  type Modal,
  OPS,
  PUBLIC_KEY,
  pressed,
  shownText,
  signed,
  startFakeDiscord,
  submitted,
} from "./support/fake-discord.ts";
import { projectPath } from "./support/test-projects.ts";

const TARGET = {
  kind: "discord",
  token: BOT_TOKEN,
  conversation: OPS,
  public_key: PUBLIC_KEY,
};

const ANA = "423456789012345678";

async function startScene(t: TestContext) {
  const discord = await startFakeDiscord(t);
  const settings = { discord_api_url: discord.receiver.url("/api/") };
  return { ...(await startBotScene(t, discord, TARGET, { settings })), discord };
}

type Scene = BotScene & { readonly discord: FakeDiscord };

function newest({ discord }: Scene): DiscordMessage {
  return discord.messages.at(-1) ?? assert.fail("no message");
}

async function send<T>({ server, channel, clock }: Scene, event: object, at = clock.now()) {
  const { pathname } = new URL(channel.events_url ?? "");
  return server.call<T>("POST", pathname, signed(event, at));
}

interface Ephemeral {
  readonly type: number;
  readonly data: { readonly flags: number; readonly content: string };
}

function assertEphemeral({ type, data }: Ephemeral, text: RegExp): void {
  assert.deepEqual([type, data.flags], [4, 64]);
  assert.match(data.content, text);
}

/** Links the account by the form that the button opens. */
async function link(scene: Scene): Promise<void> {
  const message = newest(scene);
  const opened = await send<Modal>(scene, pressed(message, "Approve", ANA));
  assert.equal(opened.json.data.title, "Link account", opened.text);
  const code = await newCode(scene);
  const sent = await send<Ephemeral>(scene, submitted(message, opened.json, code, ANA));
  assertEphemeral(sent.json, /linked to the reviewer ana@example\.com/);
}

test("[ours.bots.update] a Discord message shows the call with its exact arguments, and then the decision", async (t) => {
  const scene = await startScene(t);
  const { server, reviewer } = scene;
  const request = await announce(scene, { tool: "@everyone `x`", arguments: { a: "<@1>\u202E" } });
  const message = newest(scene);
  const lines = shownText(message).split("\n");
  assert.match(lines[0] ?? "", /^`@everyone \\u\{0060\}x\\u\{0060\}` of `[^`]+` waits/);
  const shown = ["```", '{"a":"<@1>\\u{202E}"}', "```"];
  const url = `<https://countersign.example${await projectPath(scene.server)}/inbox/${request.id}>`;
  assert.deepEqual(lines.slice(-5), ["Arguments:", ...shown, url]);
  assert.deepEqual(buttonsOf(message), ["Approve", "Deny"]);
  await server.decide(reviewer, request.id, "deny", { note: "not *now*" });
  await untilPassed(scene, () => message.edits > 0, "the update");
  assert.match(shownText(message), /^Denied by `reviewer` at .+\nNote: `not \*now\*`\n/);
  assert.deepEqual(buttonsOf(message), []);
});

test("[ours.bots.update] a Discord message shows whole arguments of 1,900 characters", async (t) => {
  const scene = await startScene(t);
  await announce(scene, { arguments: { a: "x".repeat(1_900) } });
  assert.match(shownText(newest(scene)), /x{1900}/);
  assert.deepEqual(buttonsOf(newest(scene)), ["Approve", "Deny"]);
});

test("[ours.bots.decide] a user links an account with a form of Discord and approves", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const request = await announce(scene);
  await link(scene);
  const answer = await send<Ephemeral>(scene, pressed(newest(scene), "Approve", ANA));
  assertEphemeral(answer.json, /The request is approved/);
  assert.equal((await server.read(instance.token, request.id)).status, "approved");
  const again = await send<Ephemeral>(scene, pressed(newest(scene), "Approve", ANA));
  assertEphemeral(again.json, /already approved/);
});

test("[ours.bots.decide] Deny in Discord opens a form for the note", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const request = await announce(scene);
  await link(scene);
  const message = newest(scene);
  const { json: form } = await send<Modal>(scene, pressed(message, "Deny", ANA));
  const sent = await send<Ephemeral>(scene, submitted(message, form, " not on Friday ", ANA));
  assertEphemeral(sent.json, /The request is denied/);
  const { status, decision } = await server.read(instance.token, request.id);
  assert.deepEqual([status, decision?.note], ["denied", "not on Friday"]);
});

test("[ours.bots.decide] Discord gets an answer to its ping, and 401 for a wrong or old signature", async (t) => {
  const scene = await startScene(t);
  const { server, clock, channel } = scene;
  assert.deepEqual((await send(scene, { type: 1 })).json, { type: 1 });
  assert.equal((await send(scene, { type: 1 }, clock.now() - 301_000)).status, 401);
  const { pathname } = new URL(channel.events_url ?? "");
  const { headers } = signed({ type: 1 }, clock.now());
  const changed = await server.call("POST", pathname, { body: '{"type":1 }', headers });
  assert.equal(changed.status, 401);
});

test("[ours.bots.states] errors of Discord are states of the channel, and delay no other message", async (t) => {
  const scene = await startScene(t);
  await assertStates(scene, {
    unauthorized: [FAULTS.unauthorized, /^rejected:discord_unauthorized: .*token\.$/],
    unknownConversation: [FAULTS.unknownChannel, /^rejected:unknown_channel: .*conversation\.$/],
    deleted: [FAULTS.deleted, "unknown_message"],
    limited: FAULTS.limited,
  });
});

test("[ours.bots.input] the token, channel and key of a Discord bot are checked, and the token is never returned", async (t) => {
  const scene = await startScene(t);
  await assertRejected(scene, TARGET, [
    ["token", { token: "short" }],
    ["conversation", { conversation: "ops" }],
    ["public_key", { public_key: "00" }],
    ["decide", { public_key: undefined, decide: true }],
    ["app_token", { app_token: "xapp-1" }],
  ]);
  assert.equal(scene.channel.target, `Discord channel ${OPS}`);
  await assertSecret(scene, /xxxxxx|SECRET/);
});
