import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "@countersign/protocol";
import type { ReviewerRole } from "../../core/roles.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { ExaminationLines } from "./examination-lines.ts";

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

test("[ours.policy.check.readers] a publisher does not wait for the queued checks of viewers", async () => {
  const lines = new ExaminationLines();
  const started: string[] = [];
  const examine = (name: string) => async () => {
    started.push(name);
  };
  const checks = ["first", "second", "third"].map((name) =>
    lines.runCheck(viewer, "project", examine(name)),
  );
  const others = [
    lines.runCheck(otherViewer, "project", examine("other project")),
    lines.runCheck(editor, "project", examine("editor's check")),
    lines.runPublication(editor, "project", examine("publication")),
  ];
  await Promise.all([...checks, ...others]);
  const ahead = started.slice(0, started.indexOf("publication"));
  assert.ok(!ahead.includes("third"), started.join(", "));
  assert.equal(started.indexOf("editor's check"), 1);
  assert.ok(started.indexOf("other project") < started.indexOf("third"), started.join(", "));
});

test("[ours.policy.check.readers] a full queue of viewers refuses viewers and admits a publisher", async () => {
  const lines = new ExaminationLines();
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const check = () => lines.runCheck(viewer, "project", () => held);
  // One is examined and 20 wait.
  const checks = Array.from({ length: 21 }, check);
  assert.throws(check, (error) => error instanceof Problem && error.code === "rate_limited");
  const published = lines.runPublication(editor, "project", async () => "published");
  assert.equal(await published, "published");
  release();
  await Promise.all(checks);
});

test("[ours.policy.check.readers] a viewer may neither publish nor check the floor", () => {
  const lines = new ExaminationLines();
  const isForbidden = (error: unknown) => error instanceof Problem && error.code === "forbidden";
  assert.throws(() => lines.runPublication(viewer, "project", async () => {}), isForbidden);
  assert.throws(() => lines.runCheck(viewer, "floor", async () => {}), isForbidden);
});
