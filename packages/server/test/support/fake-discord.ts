/**
 * Discord for tests: a channel with messages, signed interactions, and the limits of the API.
 *
 * @see https://docs.discord.com/developers/resources/message
 */

import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { type BotAnswer, type BotServer, startBotServer } from "./bot-scene.ts";
import type { Lifetime } from "./test-provider.ts";
import type { Received } from "./tls-receiver.ts";

export const BOT_TOKEN = `MTIzNDU2Nzg5MDEyMzQ1.${"x".repeat(40)}SECRET`;
export const OPS = "123456789012345678";
export const GUILD = "323456789012345678";

const { publicKey, privateKey } = generateKeyPairSync("ed25519");

/** Of the application, in hex. */
export const PUBLIC_KEY = publicKey
  .export({ format: "der", type: "spki" })
  .subarray(-32)
  .toString("hex");

interface Button {
  readonly type: number;
  readonly label: string;
  readonly custom_id: string;
}

interface Component {
  readonly type: number;
  readonly content?: string;
  readonly components?: readonly Button[];
}

interface Content {
  readonly flags: number;
  readonly components: readonly Component[];
  readonly allowed_mentions: object;
}

export interface DiscordMessage {
  readonly id: string;
  shown: Content;
  edits: number;
}

export interface FakeDiscord extends BotServer {
  readonly messages: DiscordMessage[];
}

export async function startFakeDiscord(t: Lifetime): Promise<FakeDiscord> {
  const bot = await startBotServer(t, (call) => answerOf(discord, call));
  const discord: FakeDiscord = { ...bot, messages: [] };
  return discord;
}

function failed(status: number, code: number, message: string): BotAnswer {
  return { status, body: { code, message } };
}

export const FAULTS = {
  unauthorized: failed(401, 0, "401: Unauthorized"),
  unknownChannel: failed(404, 10_003, "Unknown Channel"),
  deleted: failed(404, 10_008, "Unknown Message"),
  invalid: failed(400, 50_035, "Invalid Form Body"),
  limited: {
    status: 429,
    body: { message: "You are being rate limited.", retry_after: 29.5, global: false },
    headers: { "retry-after": "30" },
  },
};

function answerOf(discord: FakeDiscord, { method, path, headers, body }: Received): BotAnswer {
  if (headers.authorization !== `Bot ${BOT_TOKEN}`) return FAULTS.unauthorized;
  const [, channel, id] = /^\/api\/channels\/(\d+)\/messages(?:\/(\d+))?$/.exec(path) ?? [];
  if (channel !== OPS) return FAULTS.unknownChannel;
  const shown = JSON.parse(body.toString()) as Content;
  if (!isValid(shown)) return FAULTS.invalid;
  if (method === "POST") {
    const made = { id: String(700_000_000_000_000_000n + BigInt(discord.messages.length)) };
    discord.messages.push({ ...made, shown, edits: 0 });
    return { status: 200, body: { ...made, channel_id: OPS } };
  }
  assert.equal(method, "PATCH");
  const message = discord.messages.find((each) => each.id === id);
  if (message === undefined) return FAULTS.deleted;
  message.shown = shown;
  message.edits++;
  return { status: 200, body: { id, channel_id: OPS } };
}

/** A message of components has no content and no embeds. */
function isValid(shown: Content): boolean {
  const { flags, components, allowed_mentions } = shown;
  assert.deepEqual(allowed_mentions, { parse: [] });
  assert.ok(!("content" in shown) && !("embeds" in shown) && flags === 32_768);
  const isKnown = components.every(({ type }) => type === 10 || type === 1);
  const buttons = components.flatMap((row) => row.components ?? []);
  const isShort = buttons.every(({ custom_id, label }) => {
    return custom_id.length <= 100 && label.length <= 80;
  });
  const text = textOf(shown) + buttons.map(({ label }) => label).join("");
  return isKnown && isShort && components.length <= 40 && text.length <= 4_000;
}

function textOf({ components }: Content): string {
  return components.map(({ content = "" }) => content).join("");
}

export function shownText({ shown }: DiscordMessage): string {
  return textOf(shown);
}

function rowsOf({ shown }: DiscordMessage): readonly Button[] {
  return shown.components.flatMap((row) => row.components ?? []);
}

export function buttonsOf(message: DiscordMessage): string[] {
  return rowsOf(message).map(({ label }) => label);
}

// Users. -----------------------------------------------------------------------------------------

let events = 0;

function interaction(type: number, message: DiscordMessage, userId: string, data: object): object {
  return {
    id: String(800_000_000_000_000_000n + BigInt(++events)),
    application_id: "1",
    type,
    guild_id: GUILD,
    channel_id: OPS,
    member: { user: { id: userId, username: `user${userId}` } },
    message: { id: message.id, channel_id: OPS },
    token: "continuation",
    version: 1,
    data,
  };
}

export function pressed(message: DiscordMessage, label: string, userId: string): object {
  const button = rowsOf(message).find((each) => each.label === label);
  assert.ok(button, label);
  return interaction(3, message, userId, { custom_id: button.custom_id, component_type: 2 });
}

/** The form that an interaction opened. */
export interface Modal {
  readonly type: number;
  readonly data: {
    readonly custom_id: string;
    readonly title: string;
    readonly components: readonly { readonly components: readonly { custom_id: string }[] }[];
  };
}

export function submitted(
  message: DiscordMessage,
  { type, data }: Modal,
  value: string,
  userId: string,
): object {
  assert.equal(type, 9);
  assert.ok(data.custom_id.length <= 100 && data.title.length <= 45);
  const components = data.components.map((row) => ({
    type: 1,
    components: row.components.map(({ custom_id }) => ({ type: 4, custom_id, value })),
  }));
  return interaction(5, message, userId, { custom_id: data.custom_id, components });
}

/** The body and headers of an interaction. */
export function signed(event: object, now: number) {
  const body = JSON.stringify(event);
  const timestamp = String(Math.floor(now / 1000));
  const signature = sign(null, Buffer.from(timestamp + body), privateKey).toString("hex");
  const headers = {
    "content-type": "application/json",
    "x-signature-ed25519": signature,
    "x-signature-timestamp": timestamp,
  };
  return { body, headers };
}
