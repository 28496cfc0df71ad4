/**
 * Interactions of Discord: the signature of HTTP requests, and the payloads of buttons and forms.
 *
 * @see https://docs.discord.com/developers/interactions/overview
 * @see https://docs.discord.com/developers/interactions/receiving-and-responding
 */

import { createPublicKey, verify } from "node:crypto";
import * as v from "valibot";
import type { ButtonPressed, ChatEvent, ChatUser } from "../core/chat.ts";
import { readObject } from "./chat-answer.ts";
import type { ChatReceived } from "./chat-platform.ts";

const LETTERS = { approve: "a", deny: "d" } as const;

/** The custom id of a button. Discord limits it to 100 characters. */
export function buttonId(verdict: ButtonPressed["verdict"], nonce: string): string {
  return `${LETTERS[verdict]}:${nonce}`;
}

/** The custom id of the form for a note. Discord returns the message beside it. */
export function noteFormId(verdict: ButtonPressed["verdict"], nonce: string): string {
  return `note:${buttonId(verdict, nonce)}`;
}

export const CODE_FORM_ID = "code";

/** The field of both forms. */
export const FORM_FIELD = "text";

const AGE_MS_MAX = 5 * 60_000;

/** A raw Ed25519 key as SubjectPublicKeyInfo (RFC 8410). */
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");

/** True when Discord signed this body in the last five minutes. */
export function isDiscordSigned(publicKey: string, { headers, body, now }: ChatReceived): boolean {
  const signature = headers["x-signature-ed25519"];
  const timestamp = headers["x-signature-timestamp"];
  if (typeof timestamp !== "string" || typeof signature !== "string") return false;
  if (!/^\d{1,12}$/.test(timestamp) || !/^[0-9a-f]{128}$/i.test(signature)) return false;
  if (Math.abs(now - Number(timestamp) * 1000) > AGE_MS_MAX) return false;
  const der = Buffer.concat([SPKI_PREFIX, Buffer.from(publicKey, "hex")]);
  const key = createPublicKey({ key: der, format: "der", type: "spki" });
  const signed = Buffer.concat([Buffer.from(timestamp), body]);
  return verify(null, signed, key, Buffer.from(signature, "hex"));
}

const ID = v.pipe(v.string(), v.regex(/^\d{1,20}$/));
const TEXT = v.pipe(v.string(), v.maxLength(5_000));

const userSchema = v.object({ id: ID, username: v.optional(TEXT), global_name: v.nullish(TEXT) });

const interactionSchema = v.object({
  id: ID,
  guild_id: v.nullish(ID),
  channel_id: ID,
  /** Of a server. */
  member: v.nullish(v.object({ user: userSchema })),
  /** Of a direct message. */
  user: v.nullish(userSchema),
  message: v.nullish(v.object({ id: ID, channel_id: v.optional(ID) })),
  data: v.object({ custom_id: TEXT, components: v.optional(v.array(v.unknown())) }),
});

type Interaction = v.InferOutput<typeof interactionSchema>;

const PING = 1;
const COMPONENT = 3;
const MODAL_SUBMIT = 5;

export function readInteraction(body: Uint8Array): ChatEvent | "invalid" {
  const payload = readObject(body);
  if (typeof payload?.type !== "number") return "invalid";
  if (payload.type === PING) return { kind: "ping" };
  if (payload.type !== COMPONENT && payload.type !== MODAL_SUBMIT) return { kind: "ignored" };
  const parsed = v.safeParse(interactionSchema, payload);
  if (!parsed.success) return "invalid";
  const user = parsed.output.member?.user ?? parsed.output.user;
  if (user == null) return "invalid";
  const event = eventOf(parsed.output, user);
  return payload.type === COMPONENT
    ? readPress(parsed.output, event)
    : readForm(parsed.output, event);
}

type Event = Pick<ButtonPressed, "id" | "user" | "place" | "replyTo">;

function eventOf(
  { id, guild_id: guild, channel_id: place }: Interaction,
  { id: userId, username, global_name: shown }: v.InferOutput<typeof userSchema>,
): Event {
  const user: ChatUser = { teamId: guild ?? "", userId, name: username ?? shown ?? userId };
  return { id, user, place, replyTo: "" };
}

function readPress({ message, data }: Interaction, event: Event): ChatEvent | "invalid" {
  const button = readButton(data.custom_id);
  if (button === undefined) return { kind: "ignored" };
  if (message == null) return "invalid";
  return { kind: "pressed", ...event, ...button, post: { id: message.id, place: event.place } };
}

function readForm({ message, data }: Interaction, event: Event): ChatEvent | "invalid" {
  const text = fieldOf(data.components)?.trim() ?? "";
  if (data.custom_id === CODE_FORM_ID) return { kind: "code_sent", ...event, code: text };
  const [, id = ""] = /^note:(.*)$/.exec(data.custom_id) ?? [];
  const button = readButton(id);
  if (button === undefined) return { kind: "ignored" };
  if (message == null) return "invalid";
  const post = { id: message.id, place: event.place };
  return { kind: "note_sent", ...event, ...button, post, note: text === "" ? undefined : text };
}

function readButton(id: string): Pick<ButtonPressed, "verdict" | "value"> | undefined {
  const [, letter, nonce] = /^([ad]):([A-Za-z0-9_-]{22})$/.exec(id) ?? [];
  if (nonce === undefined) return undefined;
  return { verdict: letter === LETTERS.approve ? "approve" : "deny", value: { nonce } };
}

const fieldSchema = v.object({ custom_id: v.literal(FORM_FIELD), value: TEXT });

const rowSchema = v.object({ components: v.array(v.unknown()) });
const labelSchema = v.object({ component: v.unknown() });

/** The field is in an action row, or in a label. */
function fieldOf(components: readonly unknown[] = []): string | undefined {
  const fields = components.flatMap((component) => {
    const row = v.safeParse(rowSchema, component);
    const label = v.safeParse(labelSchema, component);
    return [...(row.success ? row.output.components : []), label.success && label.output.component];
  });
  for (const each of fields) {
    const field = v.safeParse(fieldSchema, each);
    if (field.success) return field.output.value;
  }
  return undefined;
}
