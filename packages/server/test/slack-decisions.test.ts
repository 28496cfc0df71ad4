/**
 * People decide in Slack: linked users press buttons, everybody else gets a private explanation,
 * and forged, replayed or changed events have no effect.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { ApprovalRequest } from "@countersign/protocol";
import {
  type Channel,
  passTime,
  startChannelScene,
  tryChannel,
  untilNotified,
} from "./support/channel-scene.ts";
import {
  APP_TOKEN,
  BOT_TOKEN,
  buttonsOf,
  formPayload,
  OPS,
  pressPayload,
  SIGNING_SECRET,
  type SlackMessage,
  type SlackUser,
  sendEnvelope,
  shownText,
  signPayload,
  startFakeSlack,
} from "./support/fake-slack.ts";
import { callAs, newPerson, type SignedInPerson } from "./support/people.ts";
import { enforce, policyOf } from "./support/policies.ts";
import { until } from "./support/until.ts";

const TARGET = {
  name: "ops",
  kind: "slack_app",
  token: BOT_TOKEN,
  slack_channel: OPS,
  signing_secret: SIGNING_SECRET,
  include_arguments: true,
  decide: true,
};

const ANA: SlackUser = { id: "U0ANA00001", name: "ana" };
const BEN: SlackUser = { id: "U0BEN00001", name: "ben" };
const EVE: SlackUser = { id: "U0EVE00001", name: "eve" };

async function startScene(t: TestContext, fields: object = {}) {
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

type DecisionScene = Awaited<ReturnType<typeof startScene>>;

/** A pending request and its message. */
async function ask({ server, instance, slack, clock }: DecisionScene, fields: object = {}) {
  const before = slack.messages.length;
  const request = await server.submit(instance.token, fields);
  const posts = () => server.provider.context.store.all("select * from channel_post");
  const stored = (await posts()).length;
  await untilNotified({ clock }, async () => (await posts()).length > stored, "a message");
  const message = slack.messages[before];
  assert.ok(message);
  return { request, message };
}

function receive({ server, path, clock }: DecisionScene, payload: object, secret?: string) {
  return server.call<Record<string, unknown>>(
    "POST",
    path,
    signPayload(payload, clock.now(), secret),
  );
}

async function press(
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
async function pressForForm(
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
async function sendForm(scene: DecisionScene, text: string, user: SlackUser) {
  const opened = scene.slack.views.at(-1);
  assert.ok(opened, "a form was opened");
  const answer = await receive(scene, formPayload(opened.view, text, user));
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

async function newReviewer(scene: DecisionScene, login: string, groups: readonly string[] = []) {
  return newPerson(scene.server, { login: `${login}@example.com`, groups });
}

async function codeOf({ server }: DecisionScene, person: SignedInPerson): Promise<string> {
  const made = await callAs<{ code: string }>(server, person, "POST", "/chat-links/code");
  assert.equal(made.status, 201, made.text);
  return made.json.code;
}

/** Links by the form that an unlinked user gets. */
async function link(scene: DecisionScene, person: SignedInPerson, user: SlackUser): Promise<void> {
  const code = await codeOf(scene, person);
  const { message } = await ask(scene);
  await pressForForm(scene, message, "approve", user);
  const answer = await sendForm(scene, code, user);
  assert.equal(answer.response_action, "update", JSON.stringify(answer));
}

function statusOf({ server, instance }: DecisionScene, id: string): Promise<ApprovalRequest> {
  return server.read(instance.token, id);
}

async function explained({ slack }: DecisionScene, { id }: SlackUser, text: RegExp) {
  const found = () => slack.ephemerals.some((each) => each.user === id && text.test(each.text));
  await until(found, `a private message ${text}: ${JSON.stringify(slack.ephemerals)}`);
}

/** How many events were refused for this reason. */
async function refused({ server }: DecisionScene, reason: string): Promise<number> {
  const sql = "select detail from audit_entry where kind = 'chat.refused'";
  const rows = await server.provider.context.store.all(sql);
  return rows.filter(({ detail }) => JSON.parse(String(detail)).reason === reason).length;
}

async function untilUpdated(scene: DecisionScene, message: SlackMessage, text: RegExp) {
  await until(async () => {
    await passTime(scene, 1_000);
    return text.test(shownText(message));
  }, `the message shows ${text}`);
}

test("[ours.chat.decide] a linked user approves in Slack, the agent receives it, and the message shows it", async (t) => {
  const scene = await startScene(t);
  const ana = await newReviewer(scene, "ana");
  await link(scene, ana, ANA);
  const { request, message } = await ask(scene);
  assert.deepEqual(buttonsOf(message), ["countersign_approve", "countersign_deny"]);
  const waiting = scene.server.read(scene.instance.token, request.id, "?wait=30s");
  await press(scene, message, "approve", ANA);
  assert.equal((await waiting).status, "approved");
  await untilUpdated(scene, message, /^Approved by `ana@example.com`/);
  assert.deepEqual(buttonsOf(message), []);
  const sql = "select actor, detail from audit_entry where kind = 'request.resolved'";
  const rows = await scene.server.provider.context.store.all(sql);
  const [entry] = rows.filter(({ detail }) => String(detail).includes("chat"));
  const { chat } = JSON.parse(String(entry?.detail)) as { chat: string };
  assert.equal(chat, `slack_app:T0TEAM0001:${ANA.id}:${OPS}:${message.ts}`);
});

test("[ours.chat.deny] Deny opens a form for the note, which the agent receives", async (t) => {
  const scene = await startScene(t);
  await link(scene, await newReviewer(scene, "ana"), ANA);
  const { request, message } = await ask(scene);
  const view = await pressForForm(scene, message, "deny", ANA);
  assert.equal((await statusOf(scene, request.id)).status, "pending");
  assert.equal(view.blocks.find(({ type }) => type === "input")?.optional, true);
  const answer = await sendForm(scene, "  not on Friday ", ANA);
  assert.deepEqual(answer, { response_action: "clear" });
  const denied = await statusOf(scene, request.id);
  assert.equal(denied.status, "denied");
  assert.equal(denied.decision?.note, "not on Friday");
  await untilUpdated(scene, message, /Note: `not on Friday`/);
});

test("[ours.chat.note] an approval that needs a note opens a form, and a blank note has no effect", async (t) => {
  const scene = await startScene(t);
  await enforce(
    scene.server,
    policyOf('{ id: r, match: { tool: "*" }, then: ask, ask: { note: required } }'),
  );
  await link(scene, await newReviewer(scene, "ana"), ANA);
  const { request, message } = await ask(scene);
  await pressForForm(scene, message, "approve", ANA);
  assert.match(JSON.stringify(await sendForm(scene, "   ", ANA)), /note is required/);
  assert.equal((await statusOf(scene, request.id)).status, "pending");
  assert.deepEqual(await sendForm(scene, "checked the plan", ANA), { response_action: "clear" });
  assert.equal((await statusOf(scene, request.id)).decision?.note, "checked the plan");
});

test("[ours.chat.quorum] a vote in Slack and one in the console reach the quorum, and the message counts them", async (t) => {
  const scene = await startScene(t);
  const rule = '{ id: r, match: { tool: "*" }, then: ask, ask: { quorum: 2 } }';
  await enforce(scene.server, policyOf(rule));
  await link(scene, await newReviewer(scene, "ana"), ANA);
  const { request, message } = await ask(scene);
  await press(scene, message, "approve", ANA);
  await explained(scene, ANA, /recorded: 1 of 2/);
  assert.equal((await statusOf(scene, request.id)).status, "pending");
  await untilUpdated(scene, message, /Needs: 2 approvals, 1 given/);
  assert.deepEqual(buttonsOf(message), ["countersign_approve", "countersign_deny"]);
  // The same user again is still one vote.
  await press(scene, message, "approve", ANA);
  assert.equal((await statusOf(scene, request.id)).status, "pending");
  const { status } = await scene.server.decide(scene.reviewer, request.id, "approve");
  assert.equal(status, 200);
  assert.equal((await statusOf(scene, request.id)).status, "approved");
  await untilUpdated(scene, message, /^Approved by/);
});

test("[ours.chat.unlinked] an unlinked user, and one of the same id in another team, decide nothing and get an explanation", async (t) => {
  const scene = await startScene(t);
  await link(scene, await newReviewer(scene, "ana"), ANA);
  const { request, message } = await ask(scene);
  const before = scene.slack.views.length;
  const unlinked = await refused(scene, "unlinked");
  await press(scene, message, "approve", EVE);
  await press(scene, message, "approve", { ...ANA, team: "T0OTHER001" });
  await until(() => scene.slack.views.length === before + 2, "two forms");
  const [form] = scene.slack.views.at(-1)?.view.blocks ?? [];
  assert.match(form?.text?.text ?? "", /not linked to a reviewer/);
  assert.equal((await statusOf(scene, request.id)).status, "pending");
  assert.equal(await refused(scene, "unlinked"), unlinked + 2);
});

test("[ours.chat.unlinked] a user who takes the name of a linked user decides nothing", async (t) => {
  const scene = await startScene(t);
  await link(scene, await newReviewer(scene, "ana"), ANA);
  const { request, message } = await ask(scene);
  await press(scene, message, "approve", { ...EVE, name: ANA.name ?? "" });
  assert.equal((await statusOf(scene, request.id)).status, "pending");
  // The linked user keeps the link after a change of name.
  await press(scene, message, "approve", { ...ANA, name: "someone else" });
  assert.equal((await statusOf(scene, request.id)).status, "approved");
});

test("[ours.chat.permitted] a linked reviewer outside the rule's group is refused privately, with an audit entry", async (t) => {
  const scene = await startScene(t);
  const rule = '{ id: r, match: { tool: "*" }, then: ask, ask: { from: [group:leads] } }';
  await link(scene, await newReviewer(scene, "ben"), BEN);
  await enforce(scene.server, policyOf(rule));
  const { request, message } = await ask(scene);
  await press(scene, message, "approve", BEN);
  await explained(scene, BEN, /leads/);
  assert.equal((await statusOf(scene, request.id)).status, "pending");
  assert.equal(await refused(scene, "not_permitted"), 1);
});

test("[ours.chat.permitted] a disabled reviewer and an unlinked account lose their buttons at once", async (t) => {
  const scene = await startScene(t);
  const ana = await newReviewer(scene, "ana");
  await link(scene, ana, ANA);
  const { request, message } = await ask(scene);
  const { store } = scene.server.provider.context;
  const disable = (at: string) => `update person set disabled_at = ${at} where id = $1`;
  await store.transact((tx) => tx.run(disable("1"), [ana.id]));
  await press(scene, message, "approve", ANA);
  assert.equal(await refused(scene, "inactive"), 1);
  await store.transact((tx) => tx.run(disable("null"), [ana.id]));
  const listed = await callAs<{ links: { id: string }[] }>(scene.server, ana, "GET", "/chat-links");
  const [own] = listed.json.links;
  assert.ok(own);
  const deleted = await callAs(scene.server, ana, "DELETE", `/chat-links/${own.id}`);
  assert.equal(deleted.status, 200, deleted.text);
  await press(scene, message, "approve", ANA);
  assert.equal(await refused(scene, "unlinked"), 2);
  assert.equal((await statusOf(scene, request.id)).status, "pending");
});

test("[ours.chat.forged] a request with a wrong, missing or old signature is rejected", async (t) => {
  const scene = await startScene(t);
  await link(scene, await newReviewer(scene, "ana"), ANA);
  const { request, message } = await ask(scene);
  const payload = pressPayload(message, "approve", ANA);
  const { server, path, clock } = scene;
  const forged = await receive(scene, payload, "0".repeat(32));
  assert.equal(forged.status, 401, forged.text);
  const unsigned = signPayload(payload, clock.now());
  const missing = await server.call("POST", path, { body: unsigned.body });
  assert.equal(missing.status, 401, missing.text);
  const old = await server.call("POST", path, signPayload(payload, clock.now() - 301_000));
  assert.equal(old.status, 401, old.text);
  const changed = { ...unsigned, body: unsigned.body.replace("approve", "approvd") };
  assert.equal((await server.call("POST", path, changed)).status, 401);
  assert.equal((await statusOf(scene, request.id)).status, "pending");
});

test("[ours.chat.replayed] a click that is sent again has no effect, also after its vote was withdrawn", async (t) => {
  const scene = await startScene(t);
  const rule = '{ id: r, match: { tool: "*" }, then: ask, ask: { quorum: 2 } }';
  await enforce(scene.server, policyOf(rule));
  const ana = await newReviewer(scene, "ana");
  await link(scene, ana, ANA);
  const { request, message } = await ask(scene);
  const payload = pressPayload(message, "approve", ANA);
  assert.equal((await receive(scene, payload)).status, 200);
  const path = `/requests/${request.id}/vote`;
  const withdrawn = await callAs(scene.server, ana, "DELETE", path);
  assert.equal(withdrawn.status, 200, withdrawn.text);
  assert.equal((await receive(scene, payload)).status, 200);
  await explained(scene, ANA, /already received/);
  const votes = await scene.server.provider.context.store.all("select * from vote");
  assert.deepEqual(votes, []);
  assert.equal(await refused(scene, "replayed"), 1);
});

test("[ours.chat.changed] the value of another message's button, or of none, has no effect", async (t) => {
  const scene = await startScene(t);
  await link(scene, await newReviewer(scene, "ana"), ANA);
  const harmless = await ask(scene, { tool: "read" });
  const harmful = await ask(scene, { tool: "drop" });
  const buttonValue = ({ blocks }: SlackMessage) =>
    blocks.flatMap(({ elements = [] }) => elements).find(({ value }) => value)?.value ?? "";
  await press(scene, harmless.message, "approve", ANA, { value: buttonValue(harmful.message) });
  await explained(scene, ANA, /not the current one/);
  const [id, digest] = buttonValue(harmful.message).split(".");
  const value = `${id}.${digest}.${"A".repeat(22)}`;
  await press(scene, harmful.message, "approve", ANA, { value });
  const elsewhere = { ...harmful.message, ts: "1700000000.999999" };
  await press(scene, elsewhere, "approve", ANA);
  assert.equal(await refused(scene, "changed_button"), 2);
  assert.equal(await refused(scene, "unknown_message"), 1);
  assert.equal((await statusOf(scene, harmless.request.id)).status, "pending");
  assert.equal((await statusOf(scene, harmful.request.id)).status, "pending");
});

test("[ours.chat.code] a code works once, for ten minutes, and not for a guess", async (t) => {
  const scene = await startScene(t);
  const ana = await newReviewer(scene, "ana");
  const { message } = await ask(scene, { timeout: "2h" });
  await pressForForm(scene, message, "approve", ANA);
  const code = await codeOf(scene, ana);
  assert.match(JSON.stringify(await sendForm(scene, "AAAAAAAAAA", ANA)), /not valid/);
  scene.clock.advance(10 * 60_000);
  assert.match(JSON.stringify(await sendForm(scene, code, ANA)), /not valid/);
});

test("[ours.chat.code] a token cannot create a code, and a viewer's session neither", async (t) => {
  const scene = await startScene(t);
  const { server, reviewer } = scene;
  const byToken = await server.call("POST", "/review/v1/chat-links/code", { token: reviewer });
  assert.equal(byToken.status, 403, byToken.text);
  const viewer = await newPerson(server, { login: "v@example.com", role: "viewer" });
  assert.equal((await callAs(server, viewer, "POST", "/chat-links/code")).status, 403);
});

test("[ours.chat.buttons] without decide, with hidden arguments, or with a harder confirmation there is no Approve", async (t) => {
  const scene = await startScene(t);
  const { server, channel, admin } = scene;
  const long = await ask(scene, { arguments: { text: "x".repeat(5_000) } });
  assert.deepEqual(buttonsOf(long.message), ["countersign_deny"]);
  const rule = '{ id: r, match: { tool: "*" }, then: ask, ask: { confirm: match } }';
  await enforce(server, policyOf(rule));
  assert.deepEqual(buttonsOf((await ask(scene)).message), ["countersign_deny"]);
  const off = await server.call("PATCH", `/review/v1/channels/${channel.id}`, {
    token: admin,
    body: { decide: false },
  });
  assert.equal(off.status, 200, off.text);
  assert.deepEqual(buttonsOf((await ask(scene)).message), []);
  const payload = pressPayload(long.message, "deny", ANA);
  assert.equal((await receive(scene, payload)).status, 404);
});

test("[ours.chat.input] decide needs arguments in the messages and a secret that authenticates events", async (t) => {
  const scene = await startScene(t);
  const reject = async (fields: object, text: RegExp) => {
    const { status, json } = await tryChannel(scene, { ...TARGET, name: "two", ...fields });
    assert.equal(status, 400);
    assert.match(json.error.message, text);
  };
  await reject({ include_arguments: false }, /include_arguments/);
  await reject({ signing_secret: undefined }, /app_token/);
  await reject({ app_token: "xoxb-1234567890-1234" }, /xapp-/);
  const listed = await scene.server.call("GET", "/review/v1/channels", { token: scene.admin });
  assert.doesNotMatch(listed.text, new RegExp(SIGNING_SECRET));
});

test("[ours.chat.socket] events over Socket Mode decide, and a closed connection is opened again", async (t) => {
  const scene = await startScene(t, { signing_secret: undefined, app_token: APP_TOKEN });
  const { slack, clock } = scene;
  const connected = (count: number) =>
    until(async () => {
      await passTime(scene, 1_000);
      return slack.sockets.length === count;
    }, `${count} connections`);
  await connected(1);
  const ana = await newReviewer(scene, "ana");
  const code = await codeOf(scene, ana);
  const { request, message } = await ask(scene);
  const [socket] = slack.sockets;
  assert.ok(socket);
  sendEnvelope(socket, "e1", pressPayload(message, "approve", ANA));
  await until(() => slack.views.length === 1, "the form opens");
  sendEnvelope(socket, "e2", formPayload(slack.views[0]?.view ?? assert.fail(), code, ANA));
  await until(() => socket.acks.has("e2"), "the form is answered");
  assert.match(JSON.stringify(socket.acks.get("e2")?.payload), /linked to the reviewer/);
  socket.socket.send(JSON.stringify({ type: "disconnect", reason: "refresh_requested" }));
  await connected(2);
  const again = slack.sockets[1] ?? assert.fail();
  sendEnvelope(again, "e3", pressPayload(message, "approve", ANA));
  await until(async () => (await statusOf(scene, request.id)).status === "approved", "approved");
  // A refused token is a state of the channel.
  slack.tokens.delete(APP_TOKEN);
  again.socket.terminate();
  clock.advance(0);
  await until(async () => {
    await passTime(scene, 1_000);
    const { text } = await scene.server.call("GET", "/review/v1/channels", { token: scene.admin });
    return /"state":"invalid_auth"/.test(text);
  }, "the state of the connection is listed");
});
