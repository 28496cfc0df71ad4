import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "@countersign/protocol";
import { ExaminationLine } from "./examination-line.ts";

test("[ours.policy.check.bounded] policies are examined one at a time, the projects in turn", async () => {
  const line = new ExaminationLine();
  const events: string[] = [];
  const examine = (name: string) => async () => {
    events.push(`${name} begins`);
    await Promise.resolve();
    events.push(`${name} ends`);
    return name;
  };
  const all = ["a1", "a2", "a3", "b1"].map((name) => line.run(name.slice(0, 1), examine(name)));
  assert.deepEqual(await Promise.all(all), ["a1", "a2", "a3", "b1"]);
  const order = ["a1", "a2", "b1", "a3"];
  assert.deepEqual(
    events,
    order.flatMap((name) => [`${name} begins`, `${name} ends`]),
  );
});

test("[ours.policy.check.bounded] one that fails lets the next one in, and too many are refused", async () => {
  const line = new ExaminationLine();
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const first = line.run("a", () => held);
  const failing = line.run("a", () => Promise.reject(new Error("failed")));
  const waiting = Array.from({ length: 19 }, () => line.run("a", async () => "done"));
  assert.throws(
    () => line.run("a", async () => "refused"),
    (error) => error instanceof Problem && error.code === "rate_limited",
  );
  const other = line.run("b", async () => "other");
  release();
  await assert.rejects(failing, /failed/);
  await first;
  assert.equal(await other, "other");
  assert.equal(new Set(await Promise.all(waiting)).size, 1);
  assert.equal(await line.run("a", async () => "again"), "again");
});
