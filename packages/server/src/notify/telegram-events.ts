/**
 * Updates of a Telegram bot: pressed buttons, commands and codes, and notes. Telegram has no forms.
 * The user replies to a private message of the bot, which has a signed reference to the button.
 *
 * @see https://core.telegram.org/bots/api#update
 * @see https://core.telegram.org/bots/api#callbackquery
 */

import { createHmac } from "node:crypto";
import * as v from "valibot";
import type { TelegramTarget } from "../core/channel.ts";
import {
  type ButtonPressed,
  CHAT_NOTE_CHARS_MAX,
  type ChatEvent,
  type ChatUser,
  readCode,
} from "../core/chat.ts";
import { isSameSecret } from "./chat-answer.ts";

/** Telegram limits the data of a button to 64 bytes. */
export function buttonData(verdict: ButtonPressed["verdict"], nonce: string): string {
  return `${LETTERS[verdict]}:${nonce}`;
}

const LETTERS = { approve: "a", deny: "d" } as const;

/** A reply with this text has no note. */
export const NO_NOTE = "-";

const INTEGER = v.pipe(v.number(), v.safeInteger());
const TEXT = v.pipe(v.string(), v.maxLength(10_000));

const userSchema = v.object({
  id: v.pipe(INTEGER, v.minValue(1)),
  is_bot: v.optional(v.boolean()),
  username: v.optional(TEXT),
  first_name: v.optional(TEXT),
});

const chatSchema = v.object({ id: INTEGER, type: v.optional(TEXT) });

const pressSchema = v.object({
  id: v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,64}$/)),
  from: userSchema,
  message: v.object({ message_id: INTEGER, chat: chatSchema }),
  data: v.pipe(v.string(), v.maxLength(64)),
});

const messageSchema = v.object({
  message_id: INTEGER,
  chat: chatSchema,
  from: userSchema,
  /** Set for messages in the name of a chat, whose user is unknown. */
  sender_chat: v.optional(v.unknown()),
  text: TEXT,
  reply_to_message: v.optional(v.object({ from: v.optional(userSchema), text: v.optional(TEXT) })),
});

type Press = v.InferOutput<typeof pressSchema>;
type Message = v.InferOutput<typeof messageSchema>;

/** Reads an update. Users send messages of every kind, and the server ignores most of them. */
export function readTelegramUpdate(target: TelegramTarget, update: unknown): ChatEvent | "invalid" {
  const fields = (typeof update === "object" ? update : null) as Record<string, unknown> | null;
  if (!Number.isSafeInteger(fields?.update_id)) return "invalid";
  const press = v.safeParse(pressSchema, fields?.callback_query);
  if (press.success) return readPress(press.output);
  const message = v.safeParse(messageSchema, fields?.message);
  return message.success ? readMessage(target, message.output) : { kind: "ignored" };
}

function readPress({ id, from, message, data }: Press): ChatEvent | "invalid" {
  const [, letter, nonce] = /^([ad]):([A-Za-z0-9_-]{22})$/.exec(data) ?? [];
  if (letter === undefined || nonce === undefined) return { kind: "ignored" };
  const place = String(message.chat.id);
  return {
    kind: "pressed",
    id: `press ${id}`,
    user: toUser(from),
    place,
    replyTo: id,
    post: { id: String(message.message_id), place },
    verdict: verdictOf(letter),
    value: { nonce },
  };
}

const COMMAND = /^\/(?:link|start)(?:@\w{1,64})?(?:\s+(\S.*))?$/s;

function readMessage(target: TelegramTarget, message: Message): ChatEvent {
  const { from, sender_chat, chat, text } = message;
  // An anonymous administrator has the id of a common user.
  if (from.is_bot === true || sender_chat !== undefined) return { kind: "ignored" };
  const place = String(chat.id);
  const id = `message ${place} ${message.message_id}`;
  const event = { id, user: toUser(from), place, replyTo: place };
  const reference = readReference(target, message);
  if (reference !== undefined) {
    const written = text.trim().slice(0, CHAT_NOTE_CHARS_MAX);
    const note = written === "" || written === NO_NOTE ? undefined : written;
    return { kind: "note_sent", ...event, ...reference, note };
  }
  const command = COMMAND.exec(text.trim());
  // A code in a group is used at once, because every member can read it.
  if (command?.[1] !== undefined) return { kind: "code_sent", ...event, code: command[1].trim() };
  if (command !== null) return { kind: "link_wanted", ...event };
  const code = chat.type === "private" ? readCode(text) : undefined;
  return code === undefined ? { kind: "ignored" } : { kind: "code_sent", ...event, code };
}

type Reference = Pick<ButtonPressed, "post" | "verdict" | "value">;

/** The reference to a button in the private message about its note, for one user. */
export function writeReference(target: TelegramTarget, { user, ...reference }: ButtonPressed) {
  const text = referenceText(reference);
  return `${text}.${signReference(target, text, user.userId)}`;
}

function referenceText({ verdict, value, post }: Reference): string {
  return [LETTERS[verdict], value.nonce, post.place, post.id].join(".");
}

/** Only the server has the secret. A user, another bot or a stolen token cannot sign. */
function signReference({ secret }: TelegramTarget, text: string, userId: string): string {
  const mac = createHmac("sha256", secret).update(`note ${userId} ${text}`);
  return mac.digest("base64url");
}

const REFERENCE =
  /(?:^|\n)(([ad])\.([A-Za-z0-9_-]{22})\.(-?\d{1,20})\.(\d{1,20}))\.([A-Za-z0-9_-]{43})$/;

function readReference(
  target: TelegramTarget,
  { from, reply_to_message: asked }: Message,
): Reference | undefined {
  if (String(asked?.from?.id) !== botIdOf(target)) return undefined;
  const [, text = "", letter = "", nonce = "", place = "", id = "", mac = ""] =
    REFERENCE.exec(asked?.text ?? "") ?? [];
  if (text === "" || !isSameSecret(mac, signReference(target, text, String(from.id)))) {
    return undefined;
  }
  return { post: { id, place }, verdict: verdictOf(letter), value: { nonce } };
}

/** A token starts with the id of its bot. */
function botIdOf({ token }: TelegramTarget): string {
  return token.slice(0, token.indexOf(":"));
}

function verdictOf(letter: string): ButtonPressed["verdict"] {
  return letter === LETTERS.approve ? "approve" : "deny";
}

function toUser({ id, username, first_name: name }: v.InferOutput<typeof userSchema>): ChatUser {
  return { teamId: "", userId: String(id), name: username ?? name ?? String(id) };
}
