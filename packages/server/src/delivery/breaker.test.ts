import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Breaker } from "./breaker.ts";

const NOW = 1_000_000;
const ALL = Number.POSITIVE_INFINITY;

/** A breaker that has just opened for `a`. */
function opened(): Breaker {
  const breaker = new Breaker();
  for (let i = 0; i < 5; i++) breaker.failed("a", NOW);
  return breaker;
}

test("a destination that works or fails now and then has all the room", () => {
  const breaker = new Breaker();
  assert.equal(breaker.room("a", NOW), ALL);
  for (let round = 0; round < 10; round++) {
    for (let i = 0; i < 4; i++) breaker.failed("a", NOW);
    assert.equal(breaker.room("a", NOW), ALL);
    assert.equal(breaker.opensAt("a", NOW), undefined);
    breaker.succeeded("a", NOW);
  }
  assert.equal(breaker.size, 0);
});

test("five failures in a row pause a destination for 5 s, and no other", () => {
  const breaker = opened();
  assert.equal(breaker.room("a", NOW), 0);
  assert.equal(breaker.opensAt("a", NOW), NOW + 5_000);
  assert.equal(breaker.room("a", NOW + 4_999), 0);
  assert.equal(breaker.opensAt("a", NOW + 4_999), NOW + 5_000);
  assert.equal(breaker.room("a", NOW + 5_000), 1);
  assert.equal(breaker.opensAt("a", NOW + 5_000), undefined);
  assert.equal(breaker.room("b", NOW), ALL);
  assert.equal(breaker.opensAt("b", NOW), undefined);
});

test("the pause doubles with every probe that fails, up to a minute", () => {
  const breaker = opened();
  let now = NOW + 5_000;
  for (const pauseMs of [10_000, 20_000, 40_000, 60_000, 60_000, 60_000]) {
    breaker.failed("a", now);
    assert.equal(breaker.opensAt("a", now), now + pauseMs);
    now += pauseMs;
    assert.equal(breaker.room("a", now), 1);
  }
  for (let i = 0; i < 10_000; i++) {
    breaker.failed("a", now);
    now += 60_000;
  }
  assert.equal(breaker.room("a", now), 1);
  assert.equal(breaker.room("a", now - 1), 0);
});

test("attempts in flight at the start of a pause neither double nor renew it", () => {
  const breaker = opened();
  for (const late of [0, 1_000, 4_999]) breaker.failed("a", NOW + late);
  assert.equal(breaker.opensAt("a", NOW), NOW + 5_000);
  breaker.failed("a", NOW + 5_000);
  for (const late of [5_001, 9_000, 14_999]) breaker.failed("a", NOW + late);
  assert.equal(breaker.opensAt("a", NOW + 5_000), NOW + 15_000);
});

test("a success gives room for 1, 2, 4, 8 and then for all", () => {
  const breaker = opened();
  for (const room of [1, 2, 4, 8, ALL, ALL]) {
    breaker.succeeded("a", NOW + 5_000);
    assert.equal(breaker.room("a", NOW + 5_000), room);
    assert.equal(breaker.opensAt("a", NOW + 5_000), undefined);
  }
  assert.equal(breaker.size, 0);
});

test("a success during the pause ends it: the receiver is back", () => {
  const breaker = opened();
  breaker.succeeded("a", NOW + 1);
  assert.equal(breaker.room("a", NOW + 1), 1);
});

test("a failure while recovering starts the ramp again, five in a row the pause from 5 s", () => {
  const breaker = opened();
  breaker.failed("a", NOW + 5_000);
  const now = NOW + 15_000;
  for (let i = 0; i < 4; i++) breaker.succeeded("a", now);
  assert.equal(breaker.room("a", now), 8);
  breaker.failed("a", now);
  assert.equal(breaker.room("a", now), 1);
  breaker.succeeded("a", now);
  assert.equal(breaker.room("a", now), 2);
  for (let i = 0; i < 4; i++) breaker.failed("a", now);
  assert.equal(breaker.room("a", now), 1);
  breaker.failed("a", now);
  assert.equal(breaker.opensAt("a", now), now + 5_000);
});

test("an operator ends the pause, and the count stays", () => {
  const breaker = opened();
  breaker.retryNow("a");
  assert.equal(breaker.room("a", NOW), 1);
  assert.equal(breaker.opensAt("a", NOW), undefined);
  breaker.failed("a", NOW);
  assert.equal(breaker.opensAt("a", NOW), NOW + 10_000);
  breaker.retryNow("unknown");
  assert.equal(breaker.room("unknown", NOW), ALL);
});

test("a probe without a result does not block later probes", () => {
  const breaker = opened();
  for (const later of [5_000, 60_000, 3_600_000]) assert.equal(breaker.room("a", NOW + later), 1);
});

test("a clock that is set back does not make a pause longer", () => {
  const breaker = opened();
  const back = NOW - 3_600_000;
  assert.equal(breaker.opensAt("a", back), back + 5_000);
  assert.equal(breaker.room("a", back + 4_999), 0);
  assert.equal(breaker.room("a", back + 5_000), 1);
});

test("the number of keys is bounded, and who failed last is remembered", () => {
  const breaker = new Breaker({ keysMax: 3, failuresToOpen: 1 });
  for (const key of ["a", "b", "c"]) breaker.failed(key, NOW);
  breaker.failed("a", NOW + 5_000);
  breaker.failed("d", NOW + 5_000);
  assert.equal(breaker.size, 3);
  assert.deepEqual(
    ["a", "b", "c", "d"].map((key) => breaker.room(key, NOW + 5_000)),
    [0, ALL, 1, 0],
  );
  const many = new Breaker();
  for (let i = 0; i < 10_100; i++) many.failed(`${i}`, NOW);
  assert.equal(many.size, 10_000);
});

type Step = { readonly kind: "failed" | "succeeded" | "hurry" | "look"; readonly ms: number };

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom("failed", "failed", "failed", "succeeded", "hurry", "look"),
  ms: fc.oneof(fc.constant(0), fc.nat(70_000), fc.integer({ min: -100_000, max: 0 })),
});

test("a pause ends within a minute, at the reported time", () => {
  const property = fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
    const breaker = new Breaker();
    let now = NOW;
    for (const { kind, ms } of steps) {
      now += ms;
      if (kind === "hurry") breaker.retryNow("a");
      else if (kind !== "look") breaker[kind]("a", now);
      const room = breaker.room("a", now);
      assert.ok([0, 1, 2, 4, 8, ALL].includes(room));
      const at = breaker.opensAt("a", now);
      assert.equal(at === undefined, room > 0);
      if (at === undefined) continue;
      assert.ok(at > now && at <= now + 60_000);
      assert.equal(breaker.room("a", at - 1), 0);
      assert.equal(breaker.room("a", at), 1);
    }
  });
  fc.assert(property, { numRuns: 500 });
});

test("a dead receiver is asked about once a minute, and one that is back gets everything", () => {
  const breaker = new Breaker();
  const dayMs = 24 * 3_600_000;
  let now = NOW;
  let attempts = 0;
  while (now < NOW + dayMs) {
    attempts++;
    breaker.failed("a", now);
    now = breaker.opensAt("a", now) ?? now;
  }
  assert.ok(attempts > 1_440 && attempts < 1_460, `${attempts} attempts`);
  let waiting = 1_000;
  let rounds = 0;
  for (; waiting > 0; rounds++) {
    const sent = Math.min(waiting, breaker.room("a", now));
    for (let i = 0; i < sent; i++) breaker.succeeded("a", now);
    waiting -= sent;
  }
  assert.ok(rounds < 10, `${rounds} rounds`);
});
