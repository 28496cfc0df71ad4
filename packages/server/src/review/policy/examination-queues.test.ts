import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "@countersign/protocol";
import { turns } from "../../../test/support/until.ts";
import type { ReviewerRole } from "../../core/roles.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { ExaminationQueues } from "./examination-queues.ts";

function callerOf(role: ReviewerRole, projectId: string): ReviewerCaller {
  return {
    kind: "reviewer",
    credentialId: "token",
    reviewerId: role,
    projectId,
    name: role,
    role,
    groups: [],
    scopes: null,
    isBot: false,
    personId: null,
    session: null,
  };
}

const viewer = callerOf("viewer", "a");
const otherViewer = callerOf("viewer", "b");
const editor = callerOf("editor", "a");

test("[ours.policy.check.bounded] policies are examined one at a time, and projects take turns", async () => {
  const queues = new ExaminationQueues();
  const events: string[] = [];
  const check = (caller: ReviewerCaller, name: string) => {
    return queues.runCheck(caller, "project", async () => {
      events.push(`${name} starts`);
      await turns(1);
      events.push(`${name} ends`);
      if (name === "a2") throw new Error("failed");
    });
  };
  const checks = [
    check(viewer, "a1"),
    check(viewer, "a2"),
    check(viewer, "a3"),
    check(otherViewer, "b1"),
  ];
  const outcomes = await Promise.allSettled(checks);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled", "fulfilled"],
  );
  assert.deepEqual(
    events,
    ["a1", "a2", "b1", "a3"].flatMap((name) => [`${name} starts`, `${name} ends`]),
  );
});

test("[ours.policy.check.readers] a publisher does not wait for the queued checks of viewers", async () => {
  const queues = new ExaminationQueues();
  const started: string[] = [];
  const examine = (name: string) => async () => {
    started.push(name);
  };
  const checks = ["first", "second", "third"].map((name) =>
    queues.runCheck(viewer, "project", examine(name)),
  );
  const others = [
    queues.runCheck(otherViewer, "project", examine("other project")),
    queues.runCheck(editor, "project", examine("editor's check")),
    queues.runPublication(editor, "project", examine("publication")),
  ];
  await Promise.all([...checks, ...others]);
  const ahead = started.slice(0, started.indexOf("publication"));
  assert.ok(!ahead.includes("third"), started.join(", "));
  assert.equal(started.indexOf("editor's check"), 1);
  assert.ok(started.indexOf("other project") < started.indexOf("third"), started.join(", "));
});

test("[ours.policy.check.readers] a full queue of viewers rejects viewers and admits a publisher", async () => {
  const queues = new ExaminationQueues();
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const check = () => queues.runCheck(viewer, "project", () => held);
  // One runs and 20 are queued.
  const checks = Array.from({ length: 21 }, check);
  const rejection = { code: "rate_limited", retryAfterS: 5 };
  await assert.rejects(check(), rejection);
  const published = queues.runPublication(editor, "project", async () => "published");
  assert.equal(await published, "published");
  release();
  await Promise.all(checks);
});

test("[ours.policy.check.readers] a viewer may neither publish nor check the baseline policy", () => {
  const queues = new ExaminationQueues();
  const isForbidden = (error: unknown) => error instanceof Problem && error.code === "forbidden";
  assert.throws(() => queues.runPublication(viewer, "project", async () => {}), isForbidden);
  assert.throws(() => queues.runCheck(viewer, "floor", async () => {}), isForbidden);
});
