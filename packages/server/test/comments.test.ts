/** Comments: reviewers discuss a request. The agent never receives a comment. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type TestContext, test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import { assertRefused } from "./support/envelope.ts";
import { callAs, newPerson, type SignedInPerson } from "./support/people.ts";
import { auditOf, startScene } from "./support/scene.ts";
import type { ReviewedRequest } from "./support/test-provider.ts";
import {
  provisionWithReceiver,
  startWebhookScene,
  untilDelivered,
} from "./support/webhook-scene.ts";

interface Comment {
  readonly id: string;
  readonly reviewer: string;
  readonly at: string;
  readonly text: string;
}

async function startCommentScene(t: TestContext) {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const ana = await newPerson(server, { login: "ana" });
  const ben = await newPerson(server, { login: "ben", role: "viewer" });
  const { id } = await server.submit(instance.token);
  return { ...scene, ana, ben, id };
}

type CommentScene = Pick<Awaited<ReturnType<typeof startCommentScene>>, "server" | "id">;

function comment({ server, id }: CommentScene, person: SignedInPerson, text: unknown) {
  const body = { text } as object;
  return callAs<Comment>(server, person, "POST", `/requests/${id}/comments`, { body });
}

async function listed({ server, id }: CommentScene, person: SignedInPerson): Promise<Comment[]> {
  const path = `/requests/${id}/comments`;
  const answer = await callAs<{ comments: Comment[] }>(server, person, "GET", path);
  assert.equal(answer.status, 200, answer.text);
  return answer.json.comments;
}

async function countOf({ server, id }: CommentScene, person: SignedInPerson) {
  type Counted = ReviewedRequest & { readonly comment_count?: number };
  return (await callAs<Counted>(server, person, "GET", `/requests/${id}`)).json.comment_count;
}

test("[ours.comment.visible] reviewers read the comments of a request in their order, with author and time", async (t) => {
  const scene = await startCommentScene(t);
  const { ana, ben, clock } = scene;
  assert.equal(await countOf(scene, ben), undefined);
  const first = await comment(scene, ana, "Is this\n the right target? 👀");
  assert.equal(first.status, 201, first.text);
  clock.advance(1_000);
  const other = await newPerson(scene.server, { login: "cy" });
  const second = await comment(scene, other, "Yes.");
  const comments = await listed(scene, ben);
  assert.deepEqual(comments, [first.json, second.json]);
  assert.deepEqual(
    comments.map(({ reviewer, text }) => [reviewer, text]),
    [
      ["ana", "Is this\n the right target? 👀"],
      ["cy", "Yes."],
    ],
  );
  assert.equal(Date.parse(second.json.at) - Date.parse(first.json.at), 1_000);
  assert.equal(await countOf(scene, ben), 2);
});

test("[ours.comment.visible] the audit log has the digest of each comment, and not its text", async (t) => {
  const scene = await startCommentScene(t);
  const { json } = await comment(scene, scene.ana, "Wait for the backup.");
  const entries = await auditOf(scene, `request:${scene.id}`);
  const entry = entries.find(({ kind }) => kind === "request.commented");
  const digest = createHash("sha256").update('"Wait for the backup."').digest("hex");
  assert.deepEqual(entry?.detail, { comment_id: json.id, comment_sha256: digest });
});

test("[ours.comment.rules] a reviewer who may only read cannot comment", async (t) => {
  const scene = await startCommentScene(t);
  assert.equal((await comment(scene, scene.ben, "no")).status, 403);
  assert.deepEqual(await listed(scene, scene.ben), []);
});

test("[ours.comment.rules] the server rejects a comment that is empty, blank, too long or not text", async (t) => {
  const scene = await startCommentScene(t);
  for (const text of ["", " \n\t", "x".repeat(2_001), "a\u0000b", 7, undefined]) {
    const answer = await comment(scene, scene.ana, text);
    assert.equal(answer.status, 400, JSON.stringify(text));
    assert.match(answer.text, /text/);
  }
  assert.equal((await comment(scene, scene.ana, "x".repeat(2_000))).status, 201);
  assert.equal((await listed(scene, scene.ana)).length, 1);
});

test("[ours.comment.rules] a request has at most 100 comments, also with concurrent ones", async (t) => {
  const scene = await startCommentScene(t);
  for (let n = 0; n < 98; n++) await comment(scene, scene.ana, `comment ${n}`);
  const last = await Promise.all(
    ["a", "b", "c", "d"].map((text) => comment(scene, scene.ana, text)),
  );
  assert.deepEqual(last.map(({ status }) => status).sort(), [201, 201, 400, 400]);
  assert.equal((await listed(scene, scene.ana)).length, 100);
});

test("[ours.comment.rules] a comment that is sent again with its key is stored once, also at the same time and at the maximum", async (t) => {
  const scene = await startCommentScene(t);
  const { server, id, ana } = scene;
  const send = (key: string, text: string, person = ana, to = id) =>
    callAs<Comment & ErrorResponse>(server, person, "POST", `/requests/${to}/comments`, {
      body: { text },
      key,
    });
  const answers = await Promise.all([1, 2, 3].map(() => send("key", "Wait.")));
  for (const { status, text } of answers) assert.deepEqual([status, text], [201, answers[0]?.text]);
  assert.equal((await listed(scene, ana)).length, 1);
  const entries = await auditOf(scene, `request:${id}`);
  assert.equal(entries.filter(({ kind }) => kind === "request.commented").length, 1);
  assertRefused(await send("key", "Go."), 409, "idempotency_conflict");
  const { id: another } = await server.submit(scene.instance.token);
  assertRefused(await send("key", "Wait.", ana, another), 409, "idempotency_conflict");
  const cy = await newPerson(server, { login: "cy" });
  assert.notEqual((await send("key", "Wait.", cy)).json.id, answers[0]?.json.id);
  for (let n = 2; n < 100; n++) await send(`key ${n}`, "Wait.");
  assertRefused(await send("one more", "Wait."), 400, "invalid_request", "text");
  assert.equal((await send("key", "Wait.")).text, answers[0]?.text);
  assert.equal((await listed(scene, ana)).length, 100);
});

test("[ours.comment.agent] a decided request takes comments, and no answer to the agent or webhook contains one", async (t) => {
  const scene = await startWebhookScene(t);
  const { server, reviewer, notifications } = scene;
  const canary = "canary-of-reviewers";
  const instance = await provisionWithReceiver(scene);
  const ana = await newPerson(server, { login: "ana" });
  const { id } = await server.submit(instance.token);
  const about = { server, id };
  assert.equal((await comment(about, ana, canary)).status, 201);
  const answers = [await server.call("GET", `/v1/requests/${id}`, { token: instance.token })];
  await server.decide(reviewer, id, "approve", { note: "fine" });
  assert.equal((await comment(about, ana, `${canary} after the decision`)).status, 201);
  answers.push(await server.call("GET", `/v1/requests/${id}`, { token: instance.token }));
  await untilDelivered(scene, () => notifications.length > 0, "the webhook of the decision");
  for (const { text } of answers) assert.match(text, /"arguments"/);
  const texts = [
    ...answers.map(({ text }) => text),
    ...notifications.map(({ body }) => body.toString()),
  ];
  for (const text of texts) assert.doesNotMatch(text, /canary|comment/);
  assert.equal((await listed(about, ana)).length, 2);
});

test("[ours.comment.rules] comments are purged with their request", async (t) => {
  const scene = await startCommentScene(t);
  const { server, reviewer, id, ana } = scene;
  await comment(scene, ana, "for the record");
  await server.decide(reviewer, id, "deny");
  const { store, settings } = server.provider.context;
  const { deleteDecidedBefore } = await import("../src/storage/sql/requests/requests.ts");
  const at = scene.clock.now() + settings.retentionMs;
  const bounds = { decidedBefore: at, endedBefore: at, createdBefore: at };
  await store.transact((tx) => deleteDecidedBefore(tx, ana.projectId, bounds, 10));
  assert.deepEqual(await store.all("select * from request_comment"), []);
});
