import assert from "node:assert/strict";
import test from "node:test";
import { attemptDeadline, DELIVERY_LEASE, MESSAGE_LEASE } from "./lease.ts";

test("attempts end a margin before their lease does, by the monotonic clock", () => {
  const clock = { monotonic: () => 1_000 };
  assert.equal(attemptDeadline(clock, { ms: 30_000, marginMs: 3_000 }), 28_000);
});

for (const [name, { ms, marginMs }] of Object.entries({ DELIVERY_LEASE, MESSAGE_LEASE })) {
  test(`${name} leaves time for an attempt before its margin`, () => {
    assert.ok(marginMs > 0 && ms > 3 * marginMs, `${ms} ms, of which ${marginMs} ms are margin`);
  });
}
