/**
 * Events of interactive Mattermost messages: pressed buttons and dialogs.
 *
 * Mattermost signs no requests. It keeps the context of a button secret, so a code in the context
 * authenticates the event. Users can read the state of a dialog and send any state, so the code in
 * the state is valid for one user, one button and one hour.
 *
 * @see https://developers.mattermost.com/integrate/plugins/interactive-messages
 * @see https://developers.mattermost.com/integrate/plugins/interactive-dialogs
 */

import { createHmac } from "node:crypto";
import * as v from "valibot";
import type { MattermostTarget } from "../core/channel.ts";
import type { ButtonPressed, ChatEvent, ChatUser } from "../core/chat.ts";
import { sha256Hex } from "../core/digest.ts";
import { isSameSecret, readObject } from "./chat-answer.ts";
import type { ChatReceived } from "./chat-platform.ts";

export const NOTE_DIALOG = "countersign_note";
export const CODE_DIALOG = "countersign_code";

/** The field of both dialogs. */
export const DIALOG_FIELD = "text";

const DIALOG_MS_MAX = 3_600_000;

const ID = v.pipe(v.string(), v.regex(/^[a-z0-9]{26}$/));
const NONCE = v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{22}$/));
const VERDICT = v.picklist(["approve", "deny"]);
const SHORT = v.pipe(v.string(), v.maxLength(1_000));

const pressSchema = v.object({
  user_id: ID,
  user_name: v.optional(SHORT),
  channel_id: ID,
  post_id: ID,
  trigger_id: v.pipe(SHORT, v.minLength(1)),
  context: v.object({ verdict: VERDICT, nonce: NONCE, key: SHORT }),
});

const submissionSchema = v.object({
  type: v.literal("dialog_submission"),
  callback_id: SHORT,
  state: v.pipe(v.string(), v.maxLength(3_000)),
  user_id: ID,
  cancelled: v.optional(v.boolean()),
  submission: v.nullish(v.record(v.string(), v.unknown())),
});

const stateSchema = v.object({
  place: ID,
  name: SHORT,
  /** Epoch ms. */
  at: v.pipe(v.number(), v.safeInteger()),
  button: v.optional(v.object({ verdict: VERDICT, nonce: NONCE, post: ID })),
  key: SHORT,
});

type State = Omit<v.InferOutput<typeof stateSchema>, "key">;

export function readMattermostBody(
  target: MattermostTarget,
  { body, now }: ChatReceived,
): ChatEvent | "forged" | "invalid" {
  const payload = readObject(body);
  const press = v.safeParse(pressSchema, payload);
  if (press.success) return readPress(target, press.output, now);
  const sent = v.safeParse(submissionSchema, payload);
  return sent.success ? readSubmission(target, sent.output, now) : "invalid";
}

function readPress(
  target: MattermostTarget,
  press: v.InferOutput<typeof pressSchema>,
  now: number,
): ChatEvent | "forged" {
  const { verdict, nonce, key } = press.context;
  if (!isSameSecret(key, buttonKey(target, verdict, nonce))) return "forged";
  const { user_id: userId, user_name: name = userId, channel_id: place, trigger_id } = press;
  return {
    kind: "pressed",
    id: `press ${sha256Hex(trigger_id)}`,
    user: { ...userOf(target, userId), name },
    place,
    replyTo: writeReplyTo(trigger_id, now),
    post: { id: press.post_id, place },
    verdict,
    value: { nonce },
  };
}

function readSubmission(
  target: MattermostTarget,
  sent: v.InferOutput<typeof submissionSchema>,
  now: number,
): ChatEvent | "forged" | "invalid" {
  const { user_id: userId, callback_id: dialog, state: text, submission } = sent;
  const parsed = v.safeParse(stateSchema, readObject(Buffer.from(text)));
  if (!parsed.success) return "invalid";
  const { key, ...state } = parsed.output;
  if (!isSameSecret(key, stateKey(target, dialog, userId, state))) return "forged";
  if (now - state.at > DIALOG_MS_MAX || state.at > now) return "forged";
  if (sent.cancelled === true) return { kind: "ignored" };
  const field = submission?.[DIALOG_FIELD];
  const written = typeof field === "string" ? field.trim() : "";
  const event = {
    // Mattermost sends no id. A corrected note is another event.
    id: `dialog ${sha256Hex(`${text}\n${written}`)}`,
    user: { ...userOf(target, userId), name: state.name },
    place: state.place,
    replyTo: "",
  };
  if (dialog === CODE_DIALOG) return { kind: "code_sent", ...event, code: written };
  if (dialog !== NOTE_DIALOG || state.button === undefined) return { kind: "ignored" };
  const { verdict, nonce, post } = state.button;
  return {
    kind: "note_sent",
    ...event,
    post: { id: post, place: state.place },
    verdict,
    value: { nonce },
    note: written === "" ? undefined : written,
  };
}

/** Ids of users are unique on one server. */
function userOf({ url }: MattermostTarget, userId: string): Omit<ChatUser, "name"> {
  return { teamId: new URL(url).host, userId };
}

/** The trigger opens a dialog, whose state has the time of the event. */
function writeReplyTo(trigger: string, now: number): string {
  return `${now} ${trigger}`;
}

export function readReplyTo(replyTo: string): { readonly trigger: string; readonly at: number } {
  const space = replyTo.indexOf(" ");
  return { at: Number(replyTo.slice(0, space)), trigger: replyTo.slice(space + 1) };
}

/** Authenticates a button. Only Mattermost and this server know it. */
export function buttonKey(
  { secret }: MattermostTarget,
  verdict: ButtonPressed["verdict"],
  nonce: string,
): string {
  return createHmac("sha256", secret).update(`button ${verdict} ${nonce}`).digest("hex");
}

/** The state of a dialog. The user who opened it can read it. */
export function writeState(target: MattermostTarget, dialog: string, event: ButtonPressed): string {
  const { user, place, post, verdict, value } = event;
  const { at } = readReplyTo(event.replyTo);
  const button = { verdict, nonce: value.nonce, post: post.id };
  const state: State = {
    place,
    name: user.name,
    at,
    button: dialog === NOTE_DIALOG ? button : undefined,
  };
  return JSON.stringify({ ...state, key: stateKey(target, dialog, user.userId, state) });
}

function stateKey(
  { secret }: MattermostTarget,
  dialog: string,
  userId: string,
  { place, name, at, button }: State,
): string {
  const parts = [dialog, userId, place, name, at, button?.verdict, button?.nonce, button?.post];
  const signed = `dialog ${JSON.stringify(parts)}`;
  return createHmac("sha256", secret).update(signed).digest("hex");
}
