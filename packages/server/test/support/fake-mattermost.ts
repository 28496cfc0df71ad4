/**
 * Mattermost for tests: a channel with posts, dialogs, and the limits of the server.
 *
 * @see https://developers.mattermost.com/integrate/plugins/interactive-messages
 * @see server/public/model/integration_action.go in https://github.com/mattermost/mattermost
 */

import assert from "node:assert/strict";
import { type BotAnswer, type BotServer, startBotServer } from "./bot-scene.ts";
import type { Lifetime } from "./test-provider.ts";
import type { Received } from "./tls-receiver.ts";

export const BOT_TOKEN = "secretsecretsecretsecretse";
export const OPS = "opsopsopsopsopsopsopsopsop";

interface Action {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  readonly style: string;
  readonly integration: { readonly url: string; readonly context: object };
}

interface Content {
  readonly message: string;
  readonly props: { readonly attachments: readonly { readonly actions: readonly Action[] }[] };
}

export interface MattermostPost {
  readonly id: string;
  shown: Content;
  edits: number;
}

interface Element {
  readonly display_name: string;
  readonly name: string;
  readonly type: string;
  readonly help_text?: string;
  readonly optional: boolean;
  readonly max_length: number;
}

export interface Dialog {
  readonly callback_id: string;
  readonly title: string;
  readonly introduction_text: string;
  readonly elements: readonly Element[];
  readonly state: string;
}

export interface FakeMattermost extends BotServer {
  readonly posts: MattermostPost[];
  /** Opened dialogs, the latest last. */
  readonly dialogs: Dialog[];
}

export async function startFakeMattermost(t: Lifetime): Promise<FakeMattermost> {
  const bot = await startBotServer(t, (call) => answerOf(mattermost, call));
  const mattermost: FakeMattermost = { ...bot, posts: [], dialogs: [] };
  return mattermost;
}

function failed(status: number, id: string): BotAnswer {
  return { status, body: { id, message: "a message", status_code: status } };
}

export const FAULTS = {
  unauthorized: failed(401, "api.context.session_expired.app_error"),
  forbidden: failed(403, "api.context.permissions.app_error"),
  invalid: failed(400, "model.post.is_valid.message_length.app_error"),
  limited: { status: 429, headers: { "retry-after": "30" } },
};

function answerOf(mattermost: FakeMattermost, call: Received): BotAnswer {
  const { method, path, headers, body } = call;
  if (headers.authorization !== `Bearer ${BOT_TOKEN}`) return FAULTS.unauthorized;
  const input = JSON.parse(body.toString());
  if (path === "/api/v4/actions/dialogs/open") return open(mattermost, input);
  const shown = input as Content;
  if (!isValid(shown)) return FAULTS.invalid;
  if (method === "POST" && path === "/api/v4/posts") {
    if (input.channel_id !== OPS) return FAULTS.forbidden;
    const id = `post${String(mattermost.posts.length).padStart(22, "0")}`;
    mattermost.posts.push({ id, shown, edits: 0 });
    return { status: 201, body: { id, channel_id: OPS } };
  }
  const [, id] = /^\/api\/v4\/posts\/(\w+)\/patch$/.exec(path) ?? [];
  assert.equal(method, "PUT");
  const post = mattermost.posts.find((each) => each.id === id);
  // Mattermost does not distinguish a deleted post from a missing permission.
  if (post === undefined) return FAULTS.forbidden;
  post.shown = shown;
  post.edits++;
  return { status: 200, body: { id, channel_id: OPS } };
}

function isValid({ message, props }: Content): boolean {
  for (const { id, name, style, type } of props.attachments.flatMap(({ actions }) => actions)) {
    assert.match(id, /^[A-Za-z0-9]+$/);
    assert.ok(name.length > 0 && type === "button");
    assert.match(style, /^(default|primary|success|good|warning|danger)$/);
  }
  return message.length > 0 && message.length <= 16_383;
}

function open(
  mattermost: FakeMattermost,
  { trigger_id, url, dialog }: { trigger_id: string; url: string; dialog: Dialog },
): BotAnswer {
  assert.match(trigger_id, /^trigger/);
  assert.match(url, /^https:\/\/countersign\.example\/chat\//);
  assert.ok(dialog.title.length > 0 && dialog.title.length <= 24);
  for (const { display_name, help_text = "", max_length } of dialog.elements) {
    assert.ok(display_name.length <= 24 && help_text.length <= 150 && max_length <= 3_000);
  }
  mattermost.dialogs.push(dialog);
  return { status: 200, body: { status: "OK" } };
}

// Users. -----------------------------------------------------------------------------------------

export function buttonsOf({ shown }: MattermostPost): readonly Action[] {
  return shown.props.attachments.flatMap(({ actions }) => actions);
}

let events = 0;

/** The request for a pressed button. */
export function pressed(post: MattermostPost, name: string, userId: string): object {
  const action = buttonsOf(post).find((each) => each.name === name);
  assert.ok(action, name);
  return {
    user_id: userId,
    user_name: `user-${userId.slice(0, 3)}`,
    channel_id: OPS,
    team_id: "t".repeat(26),
    post_id: post.id,
    trigger_id: `trigger${++events}`,
    type: "button",
    context: action.integration.context,
  };
}

/** The request for a sent dialog. The client of the user returns the state. */
export function submitted(
  { callback_id, state, elements }: Dialog,
  text: string,
  userId: string,
): object {
  const [{ name } = assert.fail("no field")] = elements;
  return {
    type: "dialog_submission",
    callback_id,
    state,
    user_id: userId,
    channel_id: OPS,
    team_id: "t".repeat(26),
    submission: { [name]: text },
    cancelled: false,
  };
}
