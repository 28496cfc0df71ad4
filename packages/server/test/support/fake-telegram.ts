/**
 * Telegram for tests: chats with messages, the updates of a bot, and the limits of the Bot API.
 *
 * @see https://core.telegram.org/bots/api
 */

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { type BotAnswer, type BotServer, respond, startBotServer } from "./bot-scene.ts";
import type { Lifetime } from "./test-provider.ts";
import type { Received } from "./tls-receiver.ts";

export const BOT_ID = 1234567890;
export const BOT_TOKEN = `${BOT_ID}:AAAAAAAAAAAAAAAAAAAAAAAAAAAAASECRET`;
export const OPS = -1001234567890;

export interface TelegramMessage {
  readonly message_id: number;
  readonly chat: number;
  /** As users see it. */
  text: string;
  buttons: readonly { readonly text: string; readonly callback_data?: string }[];
  edits: number;
  readonly isReplyForced: boolean;
}

export interface FakeTelegram extends BotServer {
  readonly messages: TelegramMessage[];
  /** Answers to pressed buttons. */
  readonly alerts: { readonly text: string; readonly show_alert: boolean }[];
  readonly updates: { readonly update_id: number }[];
  /** The request for updates that Telegram holds. */
  held: { readonly response: ServerResponse; readonly offset: number } | undefined;
  polls: number;
}

export async function startFakeTelegram(t: Lifetime): Promise<FakeTelegram> {
  const bot = await startBotServer(t, (call, response) => answerOf(telegram, call, response));
  const telegram: FakeTelegram = {
    ...bot,
    messages: [],
    alerts: [],
    updates: [],
    held: undefined,
    polls: 0,
  };
  return telegram;
}

interface Input {
  readonly chat_id: string;
  readonly message_id: number;
  readonly text: string;
  readonly parse_mode: string;
  readonly reply_markup?: {
    readonly inline_keyboard?: readonly (readonly TelegramMessage["buttons"][number][])[];
    readonly force_reply?: boolean;
  };
  readonly offset?: number;
  readonly show_alert: boolean;
}

function failed(status: number, description: string, parameters?: object): BotAnswer {
  const error = { ok: false, error_code: status, description };
  return { status, body: { ...error, ...(parameters && { parameters }) } };
}

export const FAULTS = {
  unauthorized: failed(401, "Unauthorized"),
  unknownChat: failed(400, "Bad Request: chat not found"),
  deleted: failed(400, "Bad Request: message to edit not found"),
  unchanged: failed(400, "Bad Request: message is not modified: specified new message content"),
  limited: failed(429, "Too Many Requests: retry after 30", { retry_after: 30 }),
};

function done(result: unknown): BotAnswer {
  return { status: 200, body: { ok: true, result } };
}

function answerOf(
  telegram: FakeTelegram,
  { path, body }: Received,
  response: ServerResponse,
): BotAnswer | undefined {
  const [, token, method] = /^\/bot([^/]+)\/(\w+)$/.exec(path) ?? [];
  if (token !== BOT_TOKEN) return FAULTS.unauthorized;
  const input = JSON.parse(body.toString()) as Input;
  switch (method) {
    case "getUpdates":
      telegram.polls++;
      telegram.held = { response, offset: input.offset ?? 0 };
      deliver(telegram, telegram.polls === 1);
      return undefined;
    case "sendMessage":
      return send(telegram, input);
    case "editMessageText":
      return edit(telegram, input);
    case "answerCallbackQuery": {
      const { text, show_alert } = input;
      assert.ok(text.length <= 200);
      telegram.alerts.push({ text, show_alert });
      return done(true);
    }
    default:
      return failed(404, "Not Found");
  }
}

/** @param isEmptyAllowed true: answers without an update */
function deliver(telegram: FakeTelegram, isEmptyAllowed = false): void {
  const { held, updates } = telegram;
  if (held === undefined) return;
  const next = updates.filter(({ update_id }) => update_id >= held.offset).slice(0, 1);
  if (next.length === 0 && !isEmptyAllowed) return;
  telegram.held = undefined;
  respond(held.response, done(next));
}

export function sendUpdate(telegram: FakeTelegram, update: object): void {
  telegram.updates.push({ update_id: telegram.updates.length + 1, ...update });
  deliver(telegram);
}

const ENTITIES: Readonly<Record<string, string>> = { "&amp;": "&", "&lt;": "<", "&gt;": ">" };

/** Parses the markup as strictly as Telegram. */
function shownText({ text, parse_mode }: Input): string {
  if (parse_mode !== "HTML") return text;
  const shown = text.replace(/<(code|pre|b)>([^<]*)<\/\1>/g, "$2");
  assert.doesNotMatch(shown, /[<>]/, "can't parse entities");
  return shown.replace(/&(amp|lt|gt);/g, (entity) => ENTITIES[entity] ?? "");
}

function contentOf(input: Input): Pick<TelegramMessage, "text" | "buttons"> | undefined {
  const buttons = input.reply_markup?.inline_keyboard?.flat() ?? [];
  for (const { callback_data: data = "a" } of buttons) assert.ok(Buffer.byteLength(data) <= 64);
  const text = shownText(input);
  return text.length > 0 && text.length <= 4_096 ? { text, buttons } : undefined;
}

const TOO_LONG = failed(400, "Bad Request: message is too long");

function send(telegram: FakeTelegram, input: Input): BotAnswer {
  const content = contentOf(input);
  if (content === undefined) return TOO_LONG;
  const chat = Number(input.chat_id);
  if (chat < 0 && chat !== OPS) return FAULTS.unknownChat;
  const message_id = telegram.messages.length + 100;
  const isReplyForced = input.reply_markup?.force_reply === true;
  telegram.messages.push({ message_id, chat, ...content, edits: 0, isReplyForced });
  return done({ message_id, chat: { id: chat }, text: content.text });
}

function edit(telegram: FakeTelegram, input: Input): BotAnswer {
  const content = contentOf(input);
  if (content === undefined) return TOO_LONG;
  const message = telegram.messages.find((each) => each.message_id === input.message_id);
  if (message === undefined || message.chat !== Number(input.chat_id)) return FAULTS.deleted;
  const isSame = message.text === content.text && message.edits > 0;
  if (isSame) return FAULTS.unchanged;
  Object.assign(message, content);
  message.edits++;
  return done({ message_id: message.message_id });
}

// Users. -----------------------------------------------------------------------------------------

let events = 0;

export function press(
  telegram: FakeTelegram,
  { message_id, chat, buttons }: TelegramMessage,
  label: string,
  userId: number,
): void {
  const data = buttons.find(({ text }) => text === label)?.callback_data;
  const message = { message_id, chat: { id: chat, type: "supergroup" } };
  const from = { id: userId, is_bot: false, first_name: `user${userId}` };
  sendUpdate(telegram, { callback_query: { id: String(++events), from, message, data } });
}

/** A private message to the bot. */
export function write(
  telegram: FakeTelegram,
  text: string,
  userId: number,
  replied?: TelegramMessage,
): void {
  const from = { id: userId, is_bot: false, first_name: `user${userId}` };
  const bot = { id: BOT_ID, is_bot: true, first_name: "Countersign" };
  const reply = replied && { reply_to_message: { from: bot, text: replied.text } };
  const chat = { id: userId, type: "private" };
  sendUpdate(telegram, { message: { message_id: ++events, chat, from, text, ...reply } });
}
