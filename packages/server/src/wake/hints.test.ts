import assert from "node:assert/strict";
import { test } from "node:test";
import { readMessage, toHint, toMessage } from "./hints.ts";
import type { Signal } from "./wake.ts";

const SENDER = "0f9a8f1f-1c11-4b9e-9d43-5f6c1c0e7a0e";
const ID = "5f6c1c0e-7a0e-4b9e-9d43-0f9a8f1f1c11";
const PROJECT = "0f9a8f1f1c114b9e";
const KEY_HASH = "kE0-_".padEnd(43, "a");

test("[ours.verdict.wakes] a signal for other replicas is parsed without a change", () => {
  const provision: Signal = { kind: "verified", scope: `provision:${ID}`, keyHash: KEY_HASH };
  const update: Signal = { ...provision, scope: `update:${ID}:${SENDER}` };
  const retry: Signal = { kind: "retryRequested", projectId: PROJECT, instanceId: ID };
  const voted: Signal = { kind: "voted", projectId: PROJECT, requestId: ID };
  const inOlder: Signal = { ...retry, projectId: SENDER };
  const resolved: Signal = {
    kind: "resolved",
    requestId: ID,
    projectId: PROJECT,
    status: "approved",
    by: "reviewer",
    notifies: SENDER,
  };
  const hints = [provision, update, retry, inOlder, voted, resolved].map(
    (signal) => toHint(signal) ?? "",
  );
  assert.deepEqual(readMessage(toMessage(SENDER, hints)), {
    sender: SENDER,
    hints: [provision, update, retry, inOlder, voted, { kind: "resolved", requestId: ID }],
  });
  const opened: Signal = { kind: "opened", projectId: PROJECT, requestId: ID, deadlineAt: 1 };
  const delayed: Signal = {
    kind: "delayed",
    projectId: PROJECT,
    requestId: ID,
    reviewerId: ID,
    commitsAt: 1,
  };
  assert.deepEqual([opened, delayed].map(toHint), [voted, voted].map(toHint));
  assert.equal(toHint({ kind: "frozen", projectId: PROJECT }), undefined);
  assert.equal(toHint({ kind: "removed", instanceId: ID }), undefined);
});

test("more hints than a message holds become the star", () => {
  assert.deepEqual(readMessage(toMessage(SENDER, ["*"])), { sender: SENDER, hints: "everything" });
});

test("[ours.replicas.untrusted] any other text on the channel is not a message", () => {
  const hint = `r:${ID}`;
  const message = toMessage(SENDER, [hint]);
  for (const text of [
    "",
    " ",
    "1",
    "*",
    "1 *",
    hint,
    JSON.stringify({ sender: SENDER, hints: [hint] }),
    `1 ${SENDER}`,
    `1 ${SENDER} `,
    `2 ${SENDER} ${hint}`,
    `1 ${SENDER.toUpperCase()} ${hint}`,
    `${message} `,
    ` ${message}`,
    `${message}\n`,
    `${message} *`,
    `${message} ${hint}x`,
    `1 ${SENDER} x:${ID}`,
    `1 ${SENDER} r:${ID.slice(1)}`,
    `1 ${SENDER} r:${"z".repeat(36)}`,
    `1 ${SENDER} v:${ID}:${KEY_HASH}`,
    `1 ${SENDER} v:provision:${ID}:${KEY_HASH}a`,
    `1 ${SENDER} t:${ID}`,
    `1 ${SENDER} v:provision:${ID}`,
    `1 ${SENDER} h:`,
    `1 ${SENDER} h:${ID}`,
    "\u0000".repeat(7_999),
  ]) {
    assert.equal(readMessage(text), undefined, JSON.stringify(text));
  }
});
