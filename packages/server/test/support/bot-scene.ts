/**
 * A provider with a channel of a bot, for the tests of Telegram, Discord and Mattermost: requests
 * and their messages, updates, tests of the channel, and links of accounts.
 */

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import {
  type Channel,
  type ChannelScene,
  type ChannelSceneOptions,
  channelOf,
  passTime,
  startChannelScene,
  tryChannel,
  untilNotified,
} from "./channel-scene.ts";
import { callAs, newPerson } from "./people.ts";
import { createSelfSigned } from "./self-signed.ts";
import type { Lifetime } from "./test-provider.ts";
import { type Received, startTlsReceiver, type TlsReceiver } from "./tls-receiver.ts";
import { until } from "./until.ts";

const CHANNELS = "/review/v1/channels";

/** An answer of a platform. */
export interface BotAnswer {
  readonly status: number;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface BotServer {
  readonly receiver: TlsReceiver;
  /** The next answers instead of the normal ones. */
  readonly faults: BotAnswer[];
  /** Method and path of each call. */
  readonly calls: string[];
}

/** @param answer undefined: the answer follows later */
export async function startBotServer(
  t: Lifetime,
  answer: (call: Received, response: ServerResponse) => BotAnswer | undefined,
): Promise<BotServer> {
  const faults: BotAnswer[] = [];
  const calls: string[] = [];
  const serve = (call: Received, response: ServerResponse) => {
    calls.push(`${call.method} ${call.path}`);
    const isPoll = call.path.endsWith("/getUpdates");
    const made = (isPoll ? undefined : faults.shift()) ?? answer(call, response);
    if (made !== undefined) respond(response, made);
  };
  const receiver = await startTlsReceiver(t, serve, { identity: createSelfSigned() });
  return { receiver, faults, calls };
}

export function respond(response: ServerResponse, { status, body, headers = {} }: BotAnswer): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body ?? {}));
}

export interface BotScene extends ChannelScene {
  readonly bot: BotServer;
  readonly channel: Channel;
}

/** @param target the members of the channel that depend on its kind */
export async function startBotScene(
  t: Lifetime,
  bot: BotServer,
  target: object,
  options: Pick<ChannelSceneOptions, "settings" | "report"> = {},
): Promise<BotScene> {
  const scene = await startChannelScene(t, { ca: [bot.receiver.certificate], ...options });
  const body = { name: "ops", include_arguments: true, decide: true, ...target };
  const made = await tryChannel(scene, body);
  assert.equal(made.status, 201, made.text);
  return { ...scene, bot, channel: made.json };
}

export async function postsOf({ server }: Pick<BotScene, "server">) {
  const rows = await server.provider.context.store.all("select * from channel_post");
  return rows.map(({ closed_by }) => closed_by);
}

/** A pending request, whose message the server posted. */
export async function announce(scene: BotScene, fields: object = {}) {
  const before = (await postsOf(scene)).length;
  const request = await scene.server.submit(scene.instance.token, fields);
  const isRecorded = async () => (await postsOf(scene)).length > before;
  await untilNotified(scene, isRecorded, "the message is posted");
  return request;
}

/** Lets seconds pass, because the outbox scans for outdated messages every second. */
export async function untilPassed(
  scene: BotScene,
  condition: () => boolean | Promise<boolean>,
  what: string,
): Promise<void> {
  await until(async () => {
    await passTime(scene, 1_000);
    return condition();
  }, what);
}

export async function testOf({ server, admin, channel }: BotScene): Promise<string> {
  const path = `${CHANNELS}/${channel.id}/test`;
  const { json } = await server.call<{ outcome: string; message: string }>("POST", path, {
    token: admin,
  });
  return `${json.outcome}: ${json.message}`;
}

export function changeChannel({ server, admin, channel }: BotScene, body: object) {
  return server.call<Channel>("PATCH", `${CHANNELS}/${channel.id}`, { token: admin, body });
}

/** The code that links an account to a new reviewer. */
export async function newCode({ server }: BotScene, name = "ana"): Promise<string> {
  const person = await newPerson(server, { login: `${name}@example.com`, groups: [] });
  const made = await callAs<{ code: string }>(server, person, "POST", "/chat-codes");
  assert.equal(made.status, 201, made.text);
  return made.json.code;
}

/** A wrong token, a limited rate and a deleted message, as the platform returns them. */
export interface BotFaults {
  readonly unauthorized: readonly [BotAnswer, RegExp];
  readonly unknownConversation: readonly [BotAnswer, RegExp];
  readonly deleted: readonly [BotAnswer, string];
  /** With a pause of 30 s. */
  readonly limited: BotAnswer;
}

/** Errors of the platform are states of the channel, and delay no other message. */
export async function assertStates(scene: BotScene, faults: BotFaults): Promise<void> {
  const { server, reviewer, bot, channel } = scene;
  for (const [fault, text] of [faults.unauthorized, faults.unknownConversation]) {
    bot.faults.push(fault);
    assert.match(await testOf(scene), text);
  }
  const deleted = await announce(scene);
  const other = await announce(scene);
  const [gone, word] = faults.deleted;
  bot.faults.push(gone);
  await server.decide(reviewer, deleted.id, "deny");
  const isGone = async () => (await postsOf(scene)).includes("gone");
  await untilPassed(scene, isGone, "the deleted message is given up");
  assert.equal((await channelOf(scene, channel.id)).last?.outcome, `gone:${word}`);
  bot.faults.push(faults.limited);
  await server.decide(reviewer, other.id, "deny");
  const isLimited = async () => (await channelOf(scene, channel.id)).last?.status === 429;
  await untilPassed(scene, isLimited, "the rate is limited");
  const counted = () => bot.calls.filter((call) => !call.endsWith("/getUpdates")).length;
  const before = counted();
  await passTime(scene, 25_000);
  assert.equal(counted(), before);
  const isUpdated = async () => (await postsOf(scene)).includes("updated");
  await untilPassed(scene, isUpdated, "the update after the pause");
  assert.equal((await channelOf(scene, channel.id)).failures, 0);
}

/** The secrets of a channel are in no list, row or audit entry. */
export async function assertSecret({ server, admin }: BotScene, secret: RegExp): Promise<void> {
  const { store } = server.provider.context;
  const rows = [
    ...(await store.all("select * from channel")),
    ...(await store.all("select * from audit_entry")),
  ];
  const listed = await server.call("GET", CHANNELS, { token: admin });
  assert.doesNotMatch(JSON.stringify(rows) + listed.text, secret);
}

/** Each of these changes of a valid channel is rejected. */
export async function assertRejected(
  scene: BotScene,
  good: object,
  wrong: readonly (readonly [param: string, changes: object])[],
): Promise<void> {
  for (const [param, changes] of wrong) {
    const body = { name: "two", include_arguments: true, ...good, ...changes };
    const { status, json } = await tryChannel(scene, body);
    assert.deepEqual([status, json.error?.param], [400, param], JSON.stringify(changes));
  }
}
