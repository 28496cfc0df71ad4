import assert from "node:assert/strict";
import { test } from "node:test";
import { releaseOnFailure } from "./release-on-failure.ts";

const failed = new Error("the start failed");
const fail = () => Promise.reject(failed);

test("a failed start releases, and throws its error only after the release", async () => {
  const steps: string[] = [];
  const release = async () => {
    await Promise.resolve();
    steps.push("released");
  };
  await releaseOnFailure(fail, release).catch(() => steps.push("threw"));
  assert.deepEqual(steps, ["released", "threw"]);
});

test("a failed start throws its own error when the release fails too", async () => {
  const failedRelease = new Error("the release failed");
  const rejected = releaseOnFailure(fail, () => Promise.reject(failedRelease));
  await assert.rejects(rejected, failed);
  const thrown = releaseOnFailure(fail, () => {
    throw failedRelease;
  });
  await assert.rejects(thrown, failed);
});

test("a start that succeeds releases nothing", async () => {
  const value = await releaseOnFailure(
    async () => "started",
    () => assert.fail("released"),
  );
  assert.equal(value, "started");
});
