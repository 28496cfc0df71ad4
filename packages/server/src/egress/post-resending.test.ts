import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { type Reply, unreachable } from "./message.ts";
import { type PostAttempt, postResending } from "./post-resending.ts";

const ANSWER: Reply = {
  kind: "answered",
  status: 204,
  retryAfter: undefined,
  body: new Uint8Array(),
};

/** Posts with a limit of 8 s; each attempt takes some time. */
async function attemptsOf(
  replies: readonly Reply[],
  attemptMs: number,
): Promise<{ readonly reply: Reply; readonly attempts: readonly PostAttempt[] }> {
  const clock = new ManualClock();
  const attempts: PostAttempt[] = [];
  const reply = await postResending(clock, 8_000, async (attempt) => {
    attempts.push(attempt);
    clock.advance(attemptMs);
    return replies[attempts.length - 1] ?? assert.fail("one attempt too many");
  });
  return { reply, attempts };
}

const FIRST = { timeoutMs: 8_000, freshConnection: false };

test("[ours.delivery.resend] a message on a closed idle connection is sent once more, over a new one, in the time that is left", async () => {
  assert.deepEqual(await attemptsOf([unreachable("stale"), ANSWER], 3_000), {
    reply: ANSWER,
    attempts: [FIRST, { timeoutMs: 5_000, freshConnection: true }],
  });
});

test("[ours.delivery.resend] with less than a second left, it is not sent again", async () => {
  const reply = unreachable("stale");
  assert.deepEqual(await attemptsOf([reply], 7_001), { reply, attempts: [FIRST] });
});

test("[ours.delivery.resend] an answer or another failure is final", async () => {
  for (const reply of [ANSWER, unreachable("reset"), { kind: "busy" } as const]) {
    assert.deepEqual(await attemptsOf([reply], 0), { reply, attempts: [FIRST] });
  }
});
