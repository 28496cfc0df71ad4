/**
 * Events of interactive Slack messages: the signature of HTTP requests, and the payloads of buttons
 * and forms.
 *
 * @see https://docs.slack.dev/authentication/verifying-requests-from-slack
 * @see https://docs.slack.dev/reference/interaction-payloads
 */

import { createHmac, timingSafeEqual } from "node:crypto";
import * as v from "valibot";
import type { ButtonPressed, ButtonValue, ChatEvent, ChatUser } from "../core/chat.ts";
import type { ChatReceived } from "./chat-platform.ts";

export const ACTIONS = { approve: "countersign_approve", deny: "countersign_deny" } as const;

/** The form for a note, and the one for the code of an account. */
export const NOTE_FORM = {
  id: "countersign_note",
  block: "note",
  action: "text",
} as const;

export const CODE_FORM = {
  id: "countersign_code",
  block: "code",
  action: "text",
} as const;

/** Slack's recommendation. */
const AGE_MS_MAX = 5 * 60_000;

/** True when the signing secret signed this body in the last five minutes. */
export function isSlackSigned(signingSecret: string, received: ChatReceived): boolean {
  const { headers, body, now } = received;
  const timestamp = headers["x-slack-request-timestamp"];
  const signature = headers["x-slack-signature"];
  if (typeof timestamp !== "string" || typeof signature !== "string") return false;
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(now - Number(timestamp) * 1000) > AGE_MS_MAX) return false;
  const mac = createHmac("sha256", signingSecret).update(`v0:${timestamp}:`).update(body);
  return isSame(signature, `v0=${mac.digest("hex")}`);
}

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Reads a form body with the field `payload`. */
export function readSlackBody(body: Uint8Array): ChatEvent | "invalid" {
  const payload = new URLSearchParams(Buffer.from(body).toString("utf8")).get("payload");
  if (payload === null) return "invalid";
  try {
    return readSlackPayload(JSON.parse(payload));
  } catch {
    return "invalid";
  }
}

const ID = v.pipe(v.string(), v.regex(/^[A-Z0-9]{3,40}$/));
const TS = v.pipe(v.string(), v.regex(/^\d{1,12}\.\d{1,9}$/));
const SHORT = v.pipe(v.string(), v.maxLength(500));

const userSchema = v.object({
  id: ID,
  team_id: v.optional(ID),
  name: v.optional(SHORT),
  username: v.optional(SHORT),
});

const pressSchema = v.object({
  type: v.literal("block_actions"),
  user: userSchema,
  team: v.nullish(v.object({ id: ID })),
  trigger_id: SHORT,
  container: v.object({ channel_id: ID, message_ts: TS }),
  actions: v.pipe(
    v.array(v.object({ action_id: SHORT, value: v.optional(SHORT), action_ts: TS })),
    v.length(1),
  ),
});

const inputSchema = v.object({ value: v.nullish(v.string()) });

const formSchema = v.object({
  type: v.literal("view_submission"),
  user: userSchema,
  team: v.nullish(v.object({ id: ID })),
  trigger_id: v.optional(SHORT),
  view: v.object({
    id: ID,
    hash: v.optional(SHORT),
    callback_id: SHORT,
    private_metadata: v.pipe(v.string(), v.maxLength(3_000)),
    state: v.object({ values: v.record(v.string(), v.record(v.string(), inputSchema)) }),
  }),
});

/** Reads the payload of an event, over HTTP or Socket Mode. */
export function readSlackPayload(payload: unknown): ChatEvent | "invalid" {
  const type = (payload as { readonly type?: unknown } | null)?.type;
  if (type === "block_actions") return readPress(payload);
  if (type === "view_submission") return readForm(payload);
  return typeof type === "string" ? { kind: "ignored" } : "invalid";
}

function readPress(payload: unknown): ChatEvent | "invalid" {
  const parsed = v.safeParse(pressSchema, payload);
  if (!parsed.success) return "invalid";
  const { user, team, trigger_id: replyTo, container, actions } = parsed.output;
  const [action] = actions;
  const place = container.channel_id;
  const post = { id: container.message_ts, place };
  const verdict = verdictOf(action?.action_id);
  if (action === undefined || verdict === undefined) return { kind: "ignored" };
  const value = readValue(action.value ?? "");
  if (value === undefined) return "invalid";
  // One user presses one button once at one time. Slack repeats these values in a repetition.
  const id = [user.id, post.id, action.action_id, action.action_ts].join(" ");
  return {
    kind: "pressed",
    id,
    user: toUser(user, team?.id),
    place,
    replyTo,
    post,
    verdict,
    value,
  };
}

function readForm(payload: unknown): ChatEvent | "invalid" {
  const parsed = v.safeParse(formSchema, payload);
  if (!parsed.success) return "invalid";
  const { user, team, trigger_id: replyTo = "", view } = parsed.output;
  const form = { user: toUser(user, team?.id), replyTo, id: `${view.id} ${replyTo}` };
  const {
    private_metadata: state,
    state: { values },
  } = view;
  if (view.callback_id === CODE_FORM.id) {
    const code = values[CODE_FORM.block]?.[CODE_FORM.action]?.value ?? "";
    return { kind: "code_sent", ...form, place: state, code };
  }
  if (view.callback_id !== NOTE_FORM.id) return { kind: "ignored" };
  const pressed = readFormState(state);
  if (pressed === undefined) return "invalid";
  const text = values[NOTE_FORM.block]?.[NOTE_FORM.action]?.value?.trim() ?? "";
  const note = text === "" ? undefined : text;
  return { kind: "note_sent", ...form, ...pressed, note };
}

function verdictOf(action: string | undefined): ButtonPressed["verdict"] | undefined {
  if (action === ACTIONS.approve) return "approve";
  return action === ACTIONS.deny ? "deny" : undefined;
}

function toUser(
  { id, team_id, name, username }: v.InferOutput<typeof userSchema>,
  team = "",
): ChatUser {
  return { teamId: team_id ?? team, userId: id, name: name ?? username ?? id };
}

const VALUE = /^([0-9a-f-]{36})\.([0-9a-f]{64})\.([A-Za-z0-9_-]{22})$/;

function readValue(text: string): ButtonValue | undefined {
  const [, requestId, argumentsSha256, nonce] = VALUE.exec(text) ?? [];
  return nonce === undefined ? undefined : { nonce, requestId, argumentsSha256 };
}

type FormState = Pick<ButtonPressed, "place" | "post" | "verdict" | "value">;

/** The form for a note returns this text about its button. */
export function writeFormState({ place, post, verdict, value }: FormState): string {
  return JSON.stringify({ place, post, verdict, value });
}

const stateSchema = v.object({
  place: ID,
  post: v.object({ id: TS, place: ID }),
  verdict: v.picklist(["approve", "deny"]),
  value: v.object({
    nonce: SHORT,
    requestId: v.optional(SHORT),
    argumentsSha256: v.optional(SHORT),
  }),
});

function readFormState(text: string): FormState | undefined {
  try {
    const parsed = v.safeParse(stateSchema, JSON.parse(text));
    return parsed.success ? parsed.output : undefined;
  } catch {
    return undefined;
  }
}
