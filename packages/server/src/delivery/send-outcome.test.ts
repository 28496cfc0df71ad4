import assert from "node:assert/strict";
import { test } from "node:test";
import type { Reply } from "../egress/egress-client.ts";
import { toSendOutcome } from "./send-outcome.ts";

function answer(status: number): Reply {
  return { kind: "answered", status, retryAfter: "30", body: new Uint8Array() };
}

test("[ours.stream.retries] Retry-After is followed with the statuses 429 and 503 only", () => {
  for (const status of [429, 503]) {
    assert.deepEqual(toSendOutcome(answer(status), 0), {
      kind: "rejected",
      status,
      retryAfterMs: 30_000,
    });
  }
  for (const status of [302, 400, 500]) {
    assert.deepEqual(toSendOutcome(answer(status), 0), {
      kind: "rejected",
      status,
      retryAfterMs: undefined,
    });
  }
  assert.deepEqual(toSendOutcome(answer(204), 0), { kind: "sent", status: 204 });
});
