/**
 * The chat platforms for tests: how each one shows a message, and how its users press buttons and
 * send notes. Reading a message checks the limits of the platform.
 */

import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import type { ChannelPost } from "../../src/core/channel.ts";
import type { ButtonPressed, ChatEvent, ChatReply, ChatTarget } from "../../src/core/chat.ts";
import type { ChatPlatform, ChatReceived } from "../../src/notify/chat-platform.ts";
import { discordPlatform } from "../../src/notify/discord.ts";
import { mattermostPlatform } from "../../src/notify/mattermost.ts";
import { slackPlatform } from "../../src/notify/slack-app.ts";
import { telegramPlatform } from "../../src/notify/telegram.ts";

export const NOW = 1_700_000_000_000;

export const ADDRESSES = {
  projectUrl: "https://countersign.example",
  apiUrl: "https://api.example",
  eventsUrl: "https://countersign.example/chat/p/c",
};

interface Parts {
  /** Text in which the platform interprets markup, without the markup of the server. */
  readonly marked: string;
  /** Text in which the platform interprets nothing. */
  readonly plain: readonly string[];
  readonly labels: readonly string[];
}

export interface Kit {
  readonly platform: ChatPlatform<ChatTarget>;
  readonly target: ChatTarget;
  /** Must not be in a body. */
  readonly secrets: readonly string[];
  readonly post: ChannelPost;
  readonly user: { readonly teamId: string; readonly userId: string };
  /** Reads the body of a message, and checks the limits of the platform. */
  read(body: string): Parts;
  /** The event of a button of the message in this body. */
  press(body: string, label: string): unknown;
  /** Undefined: events arrive over a connection. */
  sign?(event: unknown, changes?: { secret?: "other"; at?: number }): ChatReceived;
  /** Opens the form for a note and sends it. @returns the event that arrives */
  sendNote(event: ButtonPressed, note: string, userId?: string): ChatEvent | string;
}

// biome-ignore lint/suspicious/noExplicitAny: the tests read JSON of several platforms.
export type Json = Record<string, any>;

export const NOTE_FORM: ChatReply = {
  kind: "note_form",
  verdict: "deny",
  isRequired: false,
  title: "a",
};

export function parsed(text: string): Json {
  return JSON.parse(text) as Json;
}

export function received(headers: Record<string, string>, body: string): ChatReceived {
  return { headers, body: Buffer.from(body), now: NOW };
}

function kitOf<T extends ChatTarget>(
  platform: ChatPlatform<T>,
  target: T,
  rest: Omit<Kit, "platform" | "target"> & ThisType<Kit>,
): Kit {
  return { platform: platform as unknown as ChatPlatform<ChatTarget>, target, ...rest };
}

/** Removes inline code, whose content Markdown does not interpret. */
export function outsideCode(text: string): string {
  return text.replace(/```\n[^\n]*\n```/g, "").replace(/`[^`\n]*`/g, "");
}

function codeBlocks(text: string): string[] {
  return [...text.matchAll(/```\n([^\n]*)\n```/g)].map(([, shown = ""]) => {
    assert.doesNotMatch(shown, /```/, "the block ends early");
    return shown;
  });
}

// Slack. -----------------------------------------------------------------------------------------

const SIGNING_SECRET = "8f742231b10e8888abcd990000085a50";

const SLACK = kitOf(
  slackPlatform,
  {
    kind: "slack_app",
    token: "xoxb-1234567890-SECRET",
    slackChannel: "C0OPS00001",
    signingSecret: SIGNING_SECRET,
  },
  {
    secrets: ["xoxb-1234567890-SECRET", SIGNING_SECRET],
    post: { id: "1700000000.000001", place: "C0OPS00001" },
    user: { teamId: "T0TEAM0001", userId: "U0ANA00001" },
    read(body) {
      const { text, blocks } = parsed(body);
      assert.ok(blocks.length <= 50);
      const sections = blocks.flatMap((block: Json) => block.text?.text ?? []);
      for (const section of sections) assert.ok(section.length <= 3_000);
      const elements = blocks.flatMap((block: Json) => block.elements ?? []);
      return {
        marked: outsideCode([text, ...sections.slice(0, -1)].join("\n")),
        plain: elements.flatMap(
          (each: Json) => each.elements?.map((part: Json) => part.text) ?? [],
        ),
        labels: elements.flatMap((each: Json) => each.text?.text ?? []),
      };
    },
    press(body, label) {
      const elements = parsed(body).blocks.flatMap((block: Json) => block.elements ?? []);
      const button = elements.find((each: Json) => each.text?.text === label);
      assert.ok(button.value.length <= 2_000);
      const { action_id, value } = button;
      return {
        type: "block_actions",
        user: { id: this.user.userId, team_id: this.user.teamId, name: "ana" },
        trigger_id: "t",
        container: { channel_id: this.post.place, message_ts: this.post.id },
        actions: [{ action_id, value, action_ts: "1700.1" }],
      };
    },
    sign(event, { secret, at = NOW } = {}) {
      const body = new URLSearchParams({ payload: JSON.stringify(event) }).toString();
      const timestamp = String(Math.floor(at / 1000));
      const mac = createHmac("sha256", secret === undefined ? SIGNING_SECRET : "f".repeat(32));
      const signature = `v0=${mac.update(`v0:${timestamp}:${body}`).digest("hex")}`;
      const headers = {
        "x-slack-request-timestamp": timestamp,
        "x-slack-signature": signature,
      };
      return received(headers, body);
    },
    sendNote(event, note, by) {
      const userId = by ?? this.user.userId;
      const { calls } = this.platform.answer(this.target, event, NOTE_FORM, ADDRESSES);
      const { view } = parsed(calls[0]?.body ?? "");
      assert.ok(view.title.text.length <= 24 && view.private_metadata.length <= 3_000);
      const { callback_id, private_metadata } = view;
      const values = { note: { text: { value: note } } };
      const user = { id: userId, team_id: this.user.teamId, name: "ana" };
      const sent = { id: "V0VIEW0001", callback_id, private_metadata, state: { values } };
      const payload = { type: "view_submission", user, trigger_id: "u", view: sent };
      return this.platform.readPayload(this.target, payload);
    },
  },
);

// Telegram. --------------------------------------------------------------------------------------

const BOT = "1234567890:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAASECRET";

export const TELEGRAM = kitOf(
  telegramPlatform,
  { kind: "telegram", token: BOT, conversation: "-1001234567890", secret: "a secret" },
  {
    secrets: [BOT, "AAAAAAAAAA"],
    post: { id: "42", place: "-1001234567890" },
    user: { teamId: "", userId: "777" },
    read(body) {
      const { text, parse_mode, reply_markup, link_preview_options } = parsed(body);
      assert.equal(parse_mode, "HTML");
      assert.equal(link_preview_options.is_disabled, true);
      assert.doesNotMatch(text.replace(/<\/?(code|pre|b)>/g, ""), /[<>]|&(?!amp;|lt;|gt;)/);
      const shown = text.replace(/<[^>]*>/g, "").replace(/&(amp|lt|gt);/g, "&");
      assert.ok(shown.length <= 4_096, `${shown.length} characters`);
      const pre = [...text.matchAll(/<pre>(.*?)<\/pre>/gs)].map(([, content]) => content ?? "");
      return {
        marked: text.replace(/<pre>.*?<\/pre>/gs, "").replace(/<code>[^<]*<\/code>/g, ""),
        plain: pre,
        labels: reply_markup.inline_keyboard
          .flat()
          .filter((button: Json) => button.callback_data !== undefined)
          .map((button: Json) => button.text),
      };
    },
    press(body, label) {
      const keyboard = parsed(body).reply_markup.inline_keyboard.flat();
      const { callback_data: data } = keyboard.find((each: Json) => each.text === label);
      assert.ok(Buffer.byteLength(data) <= 64);
      const message = { message_id: 42, chat: { id: -1001234567890, type: "supergroup" } };
      const from = { id: 777, is_bot: false, first_name: "Ana" };
      return { update_id: 1, callback_query: { id: "9", from, message, data } };
    },
    sendNote(event, note, by) {
      const userId = by ?? this.user.userId;
      const { calls } = this.platform.answer(this.target, event, NOTE_FORM, ADDRESSES);
      const { text, chat_id, reply_markup } = parsed(calls[0]?.body ?? "");
      assert.deepEqual([chat_id, reply_markup.force_reply], [this.user.userId, true]);
      const asked = text.replace(/<[^>]*>/g, "");
      return this.platform.readPayload(this.target, noteReply(asked, note, Number(userId)));
    },
  },
);

export function noteReply(asked: string, note: string, userId: number, botId = 1234567890): object {
  const from = { id: userId, is_bot: false, first_name: "Ana" };
  const chat = { id: userId, type: "private" };
  const bot = { id: botId, is_bot: true, first_name: "Countersign" };
  const reply_to_message = { from: bot, text: asked };
  return { update_id: 2, message: { message_id: 7, chat, from, text: note, reply_to_message } };
}

// Discord. ---------------------------------------------------------------------------------------

const DISCORD_KEYS = [generateKeyPairSync("ed25519"), generateKeyPairSync("ed25519")] as const;
const PUBLIC_KEY = DISCORD_KEYS[0].publicKey
  .export({ format: "der", type: "spki" })
  .subarray(-32)
  .toString("hex");
const DISCORD_TOKEN = `MTIzNDU2Nzg5.${"x".repeat(50)}SECRET`;

export const DISCORD = kitOf(
  discordPlatform,
  {
    kind: "discord",
    token: DISCORD_TOKEN,
    conversation: "123456789012345678",
    publicKey: PUBLIC_KEY,
  },
  {
    secrets: [DISCORD_TOKEN],
    post: { id: "223456789012345678", place: "123456789012345678" },
    user: { teamId: "323456789012345678", userId: "423456789012345678" },
    read(body) {
      const { flags, components, allowed_mentions } = parsed(body);
      assert.equal(flags, 32_768);
      const [{ type, content }, ...rows] = components;
      assert.equal(type, 10);
      assert.deepEqual(allowed_mentions, { parse: [] });
      assert.ok(content.length <= 4_000, `${content.length} characters`);
      return {
        marked: outsideCode(content).replace(/\n<https:[^<>]*>$/, ""),
        plain: codeBlocks(content),
        labels: rows.flatMap((row: Json) => row.components.map((each: Json) => each.label)),
      };
    },
    press(body, label) {
      const buttons = parsed(body).components.flatMap((row: Json) => row.components ?? []);
      const { custom_id } = buttons.find((each: Json) => each.label === label);
      assert.ok(custom_id.length <= 100);
      return interaction(3, { custom_id, component_type: 2 }, this.user.userId);
    },
    sign(event, { secret, at = NOW } = {}) {
      const body = JSON.stringify(event);
      const timestamp = String(Math.floor(at / 1000));
      const { privateKey } = DISCORD_KEYS[secret === undefined ? 0 : 1];
      const signature = sign(null, Buffer.from(timestamp + body), privateKey).toString("hex");
      const headers = { "x-signature-ed25519": signature, "x-signature-timestamp": timestamp };
      return received(headers, body);
    },
    sendNote(event, note, by) {
      const userId = by ?? this.user.userId;
      const { body } = this.platform.answer(this.target, event, NOTE_FORM, ADDRESSES);
      const { type, data } = body as Json;
      assert.equal(type, 9);
      assert.ok(data.custom_id.length <= 100 && data.title.length <= 45);
      const components = data.components.map((row: Json) => ({
        type: 1,
        components: row.components.map(({ custom_id }: Json) => ({
          type: 4,
          custom_id,
          value: note,
        })),
      }));
      const sent = interaction(5, { custom_id: data.custom_id, components }, userId);
      return this.platform.receive(this.target, this.sign?.(sent) ?? assert.fail());
    },
  },
);

function interaction(type: number, data: object, userId: string): object {
  return {
    id: "523456789012345678",
    type,
    guild_id: "323456789012345678",
    channel_id: "123456789012345678",
    member: { user: { id: userId, username: "ana" } },
    message: { id: "223456789012345678", channel_id: "123456789012345678" },
    token: "continuation",
    data,
  };
}

// Mattermost. ------------------------------------------------------------------------------------

export const idOf = (letter: string) => letter.repeat(26);

export const MATTERMOST = kitOf(
  mattermostPlatform,
  {
    kind: "mattermost",
    url: "https://chat.example",
    token: idOf("t"),
    conversation: idOf("c"),
    secret: "the secret of the buttons",
  },
  {
    secrets: [idOf("t"), "the secret of the buttons"],
    post: { id: idOf("p"), place: idOf("c") },
    user: { teamId: "chat.example", userId: idOf("a") },
    read(body) {
      const { message, props } = parsed(body);
      assert.ok(message.length <= 16_383, `${message.length} characters`);
      const actions = props.attachments.flatMap((each: Json) => each.actions);
      for (const action of actions) assert.match(action.id, /^[A-Za-z0-9]+$/);
      return {
        marked: outsideCode(message).replace(/\n<https:[^<>]*>$/, ""),
        plain: codeBlocks(message),
        labels: actions.map(({ name }: Json) => name),
      };
    },
    press(body, label) {
      const actions = parsed(body).props.attachments.flatMap((each: Json) => each.actions);
      const { integration } = actions.find(({ name }: Json) => name === label);
      assert.equal(integration.url, ADDRESSES.eventsUrl);
      return {
        user_id: this.user.userId,
        user_name: "ana",
        channel_id: this.post.place,
        team_id: idOf("e"),
        post_id: this.post.id,
        trigger_id: "trigger",
        type: "button",
        context: integration.context,
      };
    },
    sign(event, { secret } = {}) {
      const { context, ...rest } = event as Json;
      const changed = secret === undefined ? context : { ...context, key: "0".repeat(64) };
      return received({}, JSON.stringify({ ...rest, context: changed }));
    },
    sendNote(event, note, by) {
      const userId = by ?? this.user.userId;
      const { calls } = this.platform.answer(this.target, event, NOTE_FORM, ADDRESSES);
      const { dialog } = parsed(calls[0]?.body ?? "");
      assert.ok(dialog.title.length <= 24);
      for (const { display_name, help_text } of dialog.elements) {
        assert.ok(display_name.length <= 24 && help_text.length <= 150);
      }
      const { callback_id, state } = dialog;
      const common = { type: "dialog_submission", callback_id, state };
      const sent = { ...common, user_id: userId, team_id: idOf("e"), submission: { text: note } };
      return this.platform.receive(this.target, received({}, JSON.stringify(sent)));
    },
  },
);

export const KITS: readonly (readonly [string, Kit])[] = [
  ["slack_app", SLACK],
  ["telegram", TELEGRAM],
  ["discord", DISCORD],
  ["mattermost", MATTERMOST],
];
