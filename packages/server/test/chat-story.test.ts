/**
 * The story of decisions where people are: an agent asks, Slack shows it over Socket Mode, a linked
 * reviewer approves there, a second one in the console, an escalation reaches the leads, every
 * message shows the result, and the audit log verifies.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertVerified, untilSealed } from "./support/audit-logs.ts";
import { passTime, tryChannel } from "./support/channel-scene.ts";
import {
  ANA,
  ask,
  BEN,
  codeOf,
  newReviewer,
  startScene,
  TARGET,
  untilUpdated,
} from "./support/chat-scene.ts";
import {
  APP_TOKEN,
  buttonsOf,
  type FakeSocket,
  formPayload,
  pressPayload,
  type SlackMessage,
  type SlackUser,
  sendEnvelope,
  shownText,
} from "./support/fake-slack.ts";
import type { SignedInPerson } from "./support/people.ts";
import { callAs } from "./support/people.ts";
import { enforce, policyOf } from "./support/policies.ts";
import { until } from "./support/until.ts";

const LEADS = "C0LEADS001";

const STEPS = "escalate: [{ after: 5m, to: group:leads }]";
const ASK = `ask: { from: [group:ops], quorum: 2, ${STEPS} }`;
const RULE = `{ id: prod, match: { tool: "*" }, then: ask, note: Production, ${ASK} }`;

test("[ours.chat.story] agent, Slack, console, quorum, escalation, updated messages and a verified log", async (t) => {
  const scene = await startScene(t, { app_token: APP_TOKEN, groups: ["ops"] });
  const { server, slack, clock, instance } = scene;
  slack.conversations.add(LEADS);
  const target = { ...TARGET, app_token: APP_TOKEN };
  const leads = { ...target, name: "leads", slack_channel: LEADS, groups: ["leads"] };
  assert.equal((await tryChannel(scene, leads)).status, 201);
  const ana = await newReviewer(scene, "ana", ["ops"]);
  const ben = await newReviewer(scene, "ben", ["leads"]);
  const cleo = await newReviewer(scene, "cleo", ["ops"]);
  await enforce(server, policyOf(RULE));
  await until(async () => {
    await passTime(scene, 1_000);
    return slack.sockets.length === 1;
  }, "one connection for both channels of the app");
  let events = 0;
  const send = async (payload: object) => {
    // After minutes without a ping, the server opens another connection.
    const isOpen = ({ socket }: FakeSocket) => socket.readyState === socket.OPEN;
    const found = () => slack.sockets.find(isOpen);
    await until(async () => {
      await passTime(scene, 1_000);
      return found() !== undefined;
    }, "an open connection");
    const socket = found() ?? assert.fail();
    const id = `envelope-${++events}`;
    sendEnvelope(socket, id, payload);
    await until(() => socket.acks.has(id), "Slack gets an answer");
    return socket.acks.get(id)?.payload;
  };
  const link = async (person: SignedInPerson, user: SlackUser, message: SlackMessage) => {
    const before = slack.views.length;
    await send(pressPayload(message, "approve", user));
    await until(() => slack.views.length > before, "the form for the code");
    const { view } = slack.views[before] ?? assert.fail();
    await send(formPayload(view, await codeOf(scene, person), user));
  };

  // An agent asks, and Slack shows it to the group of the rule alone.
  const first = await ask(scene);
  assert.equal(slack.messages.length, 1);
  assert.match(shownText(first.message), /Why: `Production` \(rule `prod`\)/);
  const answered = server.read(instance.token, first.request.id, "?wait=60s");

  // A linked reviewer votes in Slack, another one decides in the console.
  await link(ana, ANA, first.message);
  await send(pressPayload(first.message, "approve", ANA));
  await untilUpdated(scene, first.message, /Needs: 2 approvals of `group:ops`, 1 given/);
  const shown = await callAs<{ arguments_sha256: string }>(
    server,
    cleo,
    "GET",
    `/requests/${first.request.id}`,
  );
  const { arguments_sha256 } = shown.json;
  const verdict = { verdict: "approve", arguments_sha256 };
  const path = `/requests/${first.request.id}/verdict`;
  const cast = await callAs(server, cleo, "POST", path, { body: verdict });
  assert.equal(cast.status, 200, cast.text);
  assert.equal((await answered).status, "approved");
  await untilUpdated(scene, first.message, /^Approved by `cleo@example.com`/);

  // The group does not decide, so the leads may, and their channel shows it.
  const second = await ask(scene);
  clock.advance(5 * 60_000);
  await until(async () => {
    await passTime(scene, 1_000);
    return slack.messages.some(({ channel }) => channel === LEADS);
  }, "the escalation is announced to the leads");
  const escalated = slack.messages.find(({ channel }) => channel === LEADS) ?? assert.fail();
  await link(ben, BEN, escalated);
  await send(pressPayload(escalated, "deny", BEN));
  const form = slack.views.at(-1)?.view ?? assert.fail();
  assert.deepEqual(await send(formPayload(form, "Not today", BEN)), { response_action: "clear" });
  const denied = await server.read(instance.token, second.request.id);
  assert.equal(denied.status, "denied");
  assert.equal(denied.decision?.note, "Not today");

  // Every message about it shows the result, without buttons.
  for (const message of [second.message, escalated]) {
    await untilUpdated(scene, message, /^Denied by `ben@example.com`/);
    assert.match(shownText(message), /Note: `Not today`/);
    assert.deepEqual(buttonsOf(message), []);
  }
  await untilSealed(scene);
  await assertVerified(scene);
});
