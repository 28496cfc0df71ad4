/**
 * People decide in Slack: linked users press buttons, everybody else gets a private explanation,
 * and forged, replayed or changed events have no effect.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Channel, passTime, tryChannel } from "./support/channel-scene.ts";
import {
  ANA,
  ask,
  BEN,
  codeOf,
  EVE,
  explained,
  link,
  newReviewer,
  press,
  pressForForm,
  receive,
  refused,
  sendForm,
  startScene,
  statusOf,
  TARGET,
  untilUpdated,
} from "./support/chat-scene.ts";
import {
  APP_TOKEN,
  buttonsOf,
  formPayload,
  OPS,
  pressPayload,
  SIGNING_SECRET,
  type SlackMessage,
  sendEnvelope,
  signPayload,
} from "./support/fake-slack.ts";
import { callAs, newPerson } from "./support/people.ts";
import { enforce, policyOf } from "./support/policies.ts";
import type { ReviewedRequest } from "./support/test-provider.ts";
import { until } from "./support/until.ts";

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
  for (const other of ["/chat/%00/x", "/chat/default/nothing", `${path}0`]) {
    assert.equal((await server.call("POST", other, unsigned)).status, 404, other);
  }
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
  const byToken = await server.call("POST", "/review/v1/chat-codes", { token: reviewer });
  assert.equal(byToken.status, 403, byToken.text);
  const viewer = await newPerson(server, { login: "v@example.com", role: "viewer" });
  assert.equal((await callAs(server, viewer, "POST", "/chat-codes")).status, 403);
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
  // An event that the server cannot read gets an answer, and the connection stays.
  sendEnvelope(socket, "e2b", { type: "block_actions", user: 7 });
  await until(() => socket.acks.has("e2b"), "the invalid event is answered");
  assert.equal(slack.sockets.length, 1);
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

test("[ours.chat.changed] the buttons of messages from a leaked bot token have no effect", async (t) => {
  const scene = await startScene(t);
  await link(scene, await newReviewer(scene, "ana"), ANA);
  const { request, message } = await ask(scene);
  // A copy under another text: the attacker posts it, and the victim presses the button.
  const lure = { ...message, ts: "1700000000.777777", text: "Lunch?" };
  await press(scene, lure, "approve", ANA);
  await explained(scene, ANA, /not known/);
  assert.equal((await statusOf(scene, request.id)).status, "pending");
});

test("[ours.chat.unlinked] a signing secret of one project gives no power in another one", async (t) => {
  const scene = await startScene(t);
  await link(scene, await newReviewer(scene, "ana"), ANA);
  const { server } = scene;
  const attacker = await server.token({
    kind: "reviewer",
    name: "attacker",
    role: "admin",
    project: "other",
  });
  const secret = "f".repeat(32);
  const body = { ...TARGET, signing_secret: secret };
  const made = await server.call<Channel>("POST", "/review/v1/channels", { token: attacker, body });
  assert.equal(made.status, 201, made.text);
  const { request, message } = await ask(scene);
  const payload = pressPayload(message, "approve", ANA);
  const own = new URL(made.json.events_url ?? "").pathname;
  const forged = signPayload(payload, scene.clock.now(), secret);
  // The message of the first project is not one of the second.
  assert.equal((await server.call("POST", own, forged)).status, 200);
  assert.equal((await server.call("POST", scene.path, forged)).status, 401);
  assert.equal((await statusOf(scene, request.id)).status, "pending");
});

test("[ours.policy.places] a rule for the console refuses approvals elsewhere, and permits denials", async (t) => {
  const scene = await startScene(t);
  const { server, reviewer } = scene;
  const ana = await newReviewer(scene, "ana");
  await link(scene, ana, ANA);
  const rule = '{ id: r, match: { tool: "*" }, then: ask, ask: { channels: [console] } }';
  await enforce(server, policyOf(rule));
  const { request, message } = await ask(scene);
  assert.deepEqual(buttonsOf(message), ["countersign_deny"]);
  const byToken = await server.decide(reviewer, request.id, "approve");
  assert.equal(byToken.status, 403);
  assert.match(byToken.json.error.message, /in the console only/);
  const path = `/requests/${request.id}`;
  const shown = await callAs<ReviewedRequest>(server, ana, "GET", path);
  assert.equal(shown.json.may_decide.approve, true);
  const body = { verdict: "approve", arguments_sha256: shown.json.arguments_sha256 };
  const cast = await callAs(server, ana, "POST", `${path}/verdict`, { body });
  assert.equal(cast.status, 200, cast.text);
  const other = await ask(scene);
  assert.equal((await server.decide(reviewer, other.request.id, "deny")).status, 200);
});
