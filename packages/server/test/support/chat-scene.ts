/**
 * A provider with a channel of a Slack app where people can decide, and users of Slack who press
 * buttons and send forms.
 */

import assert from "node:assert/strict";
import type { ApprovalRequest } from "@countersign/protocol";
import {
  type Channel,
  passTime,
  startChannelScene,
  tryChannel,
  untilNotified,
} from "./channel-scene.ts";
import {
  BOT_TOKEN,
  formPayload,
  OPS,
  pressPayload,
  SIGNING_SECRET,
  type SlackMessage,
  type SlackUser,
  shownText,
  signPayload,
  startFakeSlack,
} from "./fake-slack.ts";
import { callAs, newPerson, type SignedInPerson } from "./people.ts";
import type { Lifetime } from "./test-provider.ts";
import { until } from "./until.ts";

export const TARGET = {
  name: "ops",
  kind: "slack_app",
  token: BOT_TOKEN,
  slack_channel: OPS,
  signing_secret: SIGNING_SECRET,
  include_arguments: true,
  decide: true,
};

export const ANA: SlackUser = { id: "U0ANA00001", name: "ana" };
export const BEN: SlackUser = { id: "U0BEN00001", name: "ben" };
export const EVE: SlackUser = { id: "U0EVE00001", name: "eve" };

export async function startScene(t: Lifetime, fields: object = {}) {
  const slack = await startFakeSlack(t);
  const scene = await startChannelScene(t, {
    ca: [slack.receiver.certificate],
    settings: { slack_api_url: slack.apiUrl },
  });
  const made = await tryChannel(scene, { ...TARGET, ...fields });
  assert.equal(made.status, 201, made.text);
  const channel: Channel = made.json;
  const path = new URL(channel.events_url ?? "").pathname;
  return { ...scene, slack, channel, path };
}

export type DecisionScene = Awaited<ReturnType<typeof startScene>>;

/** A pending request and its message. */
export async function ask({ server, instance, slack, clock }: DecisionScene, fields: object = {}) {
  const before = slack.messages.length;
  const request = await server.submit(instance.token, fields);
  const posts = () => server.provider.context.store.all("select * from channel_post");
  const stored = (await posts()).length;
  await untilNotified({ clock }, async () => (await posts()).length > stored, "a message");
  const message = slack.messages[before];
  assert.ok(message);
  return { request, message };
}

export function receive({ server, path, clock }: DecisionScene, payload: object, secret?: string) {
  return server.call<Record<string, unknown>>(
    "POST",
    path,
    signPayload(payload, clock.now(), secret),
  );
}

export async function press(
  scene: DecisionScene,
  message: SlackMessage,
  action: "approve" | "deny",
  user: SlackUser,
  changes: { readonly value?: string } = {},
) {
  const answer = await receive(scene, pressPayload(message, action, user, changes));
  assert.equal(answer.status, 200, answer.text);
}

/** Presses a button that opens a form. */
export async function pressForForm(
  scene: DecisionScene,
  message: SlackMessage,
  action: "approve" | "deny",
  user: SlackUser,
) {
  const { views } = scene.slack;
  const before = views.length;
  await press(scene, message, action, user);
  await until(() => views.length > before, "the form opens");
  return views[before]?.view ?? assert.fail("no form");
}

/** Sends a form that the server opened last. */
export async function sendForm(scene: DecisionScene, text: string, user: SlackUser) {
  const opened = scene.slack.views.at(-1);
  assert.ok(opened, "a form was opened");
  const answer = await receive(scene, formPayload(opened.view, text, user));
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

export async function newReviewer(
  scene: DecisionScene,
  login: string,
  groups: readonly string[] = [],
) {
  return newPerson(scene.server, { login: `${login}@example.com`, groups });
}

export async function codeOf({ server }: DecisionScene, person: SignedInPerson): Promise<string> {
  const made = await callAs<{ code: string }>(server, person, "POST", "/chat-codes");
  assert.equal(made.status, 201, made.text);
  return made.json.code;
}

/** Links by the form that an unlinked user gets. */
export async function link(
  scene: DecisionScene,
  person: SignedInPerson,
  user: SlackUser,
): Promise<void> {
  const code = await codeOf(scene, person);
  const { message } = await ask(scene);
  await pressForForm(scene, message, "approve", user);
  const answer = await sendForm(scene, code, user);
  assert.equal(answer.response_action, "update", JSON.stringify(answer));
}

export function statusOf(
  { server, instance }: DecisionScene,
  id: string,
): Promise<ApprovalRequest> {
  return server.read(instance.token, id);
}

export async function explained({ slack }: DecisionScene, { id }: SlackUser, text: RegExp) {
  const found = () => slack.ephemerals.some((each) => each.user === id && text.test(each.text));
  await until(found, `a private message ${text}: ${JSON.stringify(slack.ephemerals)}`);
}

/** How many events were refused for this reason. */
export async function refused({ server }: DecisionScene, reason: string): Promise<number> {
  const sql = "select detail from audit_entry where kind = 'chat.refused'";
  const rows = await server.provider.context.store.all(sql);
  return rows.filter(({ detail }) => JSON.parse(String(detail)).reason === reason).length;
}

export async function untilUpdated(scene: DecisionScene, message: SlackMessage, text: RegExp) {
  await until(async () => {
    await passTime(scene, 1_000);
    return text.test(shownText(message));
  }, `the message shows ${text}`);
}
