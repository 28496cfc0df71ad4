/** A channel of a Mattermost bot posts and updates messages, and linked users decide there. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  announce,
  assertRejected,
  assertSecret,
  assertStates,
  type BotScene,
  changeChannel,
  newCode,
  startBotScene,
  untilPassed,
} from "./support/bot-scene.ts";
import {
  BOT_TOKEN,
  buttonsOf,
  type Dialog,
  FAULTS,
  type FakeMattermost,
  type MattermostPost,
  OPS,
  pressed,
  startFakeMattermost,
  submitted,
} from "./support/fake-mattermost.ts";
import { projectPath } from "./support/test-projects.ts";
import { until } from "./support/until.ts";

const ANA = "anaanaanaanaanaanaanaanaan";
const EVE = "eveeveeveeveeveeveeveeveev";

async function startScene(t: TestContext) {
  const mattermost = await startFakeMattermost(t);
  const url = mattermost.receiver.url("/");
  const target = { kind: "mattermost", url, token: BOT_TOKEN, conversation: OPS };
  return { ...(await startBotScene(t, mattermost, target)), mattermost, target };
}

type Scene = BotScene & { readonly mattermost: FakeMattermost };

function newest({ mattermost }: Scene): MattermostPost {
  return mattermost.posts.at(-1) ?? assert.fail("no post");
}

interface Answered {
  readonly ephemeral_text?: string;
  readonly errors?: Readonly<Record<string, string>>;
}

async function send({ server, channel }: Scene, body: object) {
  const { pathname } = new URL(channel.events_url ?? "");
  return server.call<Answered>("POST", pathname, { body });
}

/** Presses a button that opens a dialog. */
async function pressForDialog(scene: Scene, name: string, userId: string): Promise<Dialog> {
  const { dialogs } = scene.mattermost;
  const before = dialogs.length;
  assert.equal((await send(scene, pressed(newest(scene), name, userId))).status, 200);
  await until(() => dialogs.length > before, "the dialog opens");
  return dialogs[before] ?? assert.fail("no dialog");
}

async function link(scene: Scene): Promise<void> {
  const dialog = await pressForDialog(scene, "Approve", ANA);
  assert.match(dialog.introduction_text, /not linked to a reviewer/);
  const sent = await send(scene, submitted(dialog, await newCode(scene), ANA));
  assert.deepEqual([sent.status, sent.json], [200, {}], sent.text);
}

test("[ours.bots.update] a Mattermost post shows the call with its exact arguments, and then the decision", async (t) => {
  const scene = await startScene(t);
  const { server, reviewer } = scene;
  const request = await announce(scene, { tool: "@all", arguments: { a: "```\n\u202E" } });
  const post = newest(scene);
  const lines = post.shown.message.split("\n");
  assert.match(lines[0] ?? "", /^`@all` of `[^`]+` waits for a decision\.$/);
  const tick = "\\u{0060}";
  const shown = `{"a":"${tick.repeat(3)}\\n\\u{202E}"}`;
  const url = `<https://countersign.example${await projectPath(scene.server)}/inbox/${request.id}>`;
  assert.deepEqual(lines.slice(-5), ["Arguments:", "```", shown, "```", url]);
  assert.deepEqual(
    buttonsOf(post).map(({ name }) => name),
    ["Approve", "Deny"],
  );
  await server.decide(reviewer, request.id, "deny", { note: "not *now*" });
  await untilPassed(scene, () => post.edits > 0, "the update");
  assert.match(post.shown.message, /^Denied by `reviewer` at .+\nNote: `not \*now\*`\n/);
  assert.deepEqual(buttonsOf(post), []);
});

test("[ours.bots.decide] a user links an account with a dialog of Mattermost and approves", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const request = await announce(scene);
  await link(scene);
  const answer = await send(scene, pressed(newest(scene), "Approve", ANA));
  assert.match(answer.json.ephemeral_text ?? "", /^`The request is approved/);
  assert.equal((await server.read(instance.token, request.id)).status, "approved");
});

test("[ours.bots.decide] Deny in Mattermost opens a dialog for the note", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const request = await announce(scene);
  await link(scene);
  const dialog = await pressForDialog(scene, "Deny", ANA);
  const sent = await send(scene, submitted(dialog, " not on Friday ", ANA));
  assert.deepEqual([sent.status, sent.json], [200, {}]);
  const { status, decision } = await server.read(instance.token, request.id);
  assert.deepEqual([status, decision?.note], ["denied", "not on Friday"]);
});

test("[ours.bots.decide] an event with a wrong code, or with the dialog of another user, returns 401", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const request = await announce(scene);
  await link(scene);
  const press = pressed(newest(scene), "Approve", ANA) as { context: { key: string } };
  const context = { ...press.context, key: "0".repeat(64) };
  assert.equal((await send(scene, { ...press, context })).status, 401);
  // A user reads the state of a dialog, and sends it in the name of a linked user.
  const dialog = await pressForDialog(scene, "Deny", EVE);
  assert.equal((await send(scene, submitted(dialog, "a", ANA))).status, 401);
  const own = await pressForDialog(scene, "Deny", ANA);
  assert.equal((await send(scene, submitted(own, "a", EVE))).status, 401);
  scene.clock.advance(3_600_001);
  assert.equal((await send(scene, submitted(own, "a", ANA))).status, 401);
  assert.notEqual((await server.read(instance.token, request.id)).status, "approved");
});

test("[ours.bots.states] errors of Mattermost are states of the channel, and delay no other message", async (t) => {
  const scene = await startScene(t);
  await assertStates(scene, {
    unauthorized: [FAULTS.unauthorized, /^rejected:mattermost_unauthorized: .*token\.$/],
    unknownConversation: [FAULTS.forbidden, /^rejected:not_permitted: .*channel\.$/],
    deleted: [FAULTS.forbidden, "not_editable"],
    limited: FAULTS.limited,
  });
});

test("[ours.bots.input] the URL, token and channel of a Mattermost bot are checked, and the token is never returned", async (t) => {
  const scene = await startScene(t);
  const { target } = scene;
  await assertRejected(scene, target, [
    ["url", { url: undefined }],
    ["url", { url: "http://chat.example" }],
    ["url", { url: "https://chat.example/?a=b" }],
    ["token", { token: "short" }],
    ["conversation", { conversation: "town-square" }],
    ["signing_secret", { signing_secret: "a" }],
  ]);
  assert.match(scene.channel.target, /^localhost:\d+, channel opsops/);
  await assertSecret(scene, new RegExp(BOT_TOKEN));
});

test("[ours.bots.input] buttons stay valid after a change of the token, and another URL needs its own", async (t) => {
  const scene = await startScene(t);
  const { server, instance, target } = scene;
  const request = await announce(scene);
  await link(scene);
  const changed = await changeChannel(scene, { token: BOT_TOKEN });
  assert.equal(changed.status, 200, changed.text);
  await send(scene, pressed(newest(scene), "Approve", ANA));
  assert.equal((await server.read(instance.token, request.id)).status, "approved");
  const moved = await changeChannel(scene, { url: "https://other.example" });
  assert.equal(moved.status, 400);
  const { kind, ...fields } = target;
  const again = await changeChannel(scene, fields);
  assert.equal(again.status, 200, `${kind}: ${again.text}`);
  const press = pressed(newest(scene), "Deny", ANA);
  assert.equal((await send(scene, press)).status, 401);
});
