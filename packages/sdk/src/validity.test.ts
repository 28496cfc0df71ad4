import assert from "node:assert/strict";
import { test } from "node:test";
import { manualTiming } from "../test/support/manual-timing.ts";
import type { Decision } from "./answer.ts";
import { ForwardClock } from "./clock.ts";
import { validityOf } from "./validity.ts";

const NOW = Date.UTC(2026, 0, 1);
const MARGIN_MS = 500;

/** Approved right now, for five minutes. */
const DECISION: Decision = {
  status: "approved",
  note: undefined,
  decidedAt: NOW,
  expiresAt: NOW + 300_000,
};

function approved(startsAt = NOW) {
  const timing = manualTiming(startsAt);
  const clock = new ForwardClock(timing);
  const clocks = { now: () => clock.now(), timing, marginMs: MARGIN_MS };
  return { timing, mayStart: validityOf(DECISION, clocks) };
}

test("[ours.sdk.gate.validity] an approval permits a start until the margin before its expiry", () => {
  const { timing, mayStart } = approved();
  timing.pass(300_000 - MARGIN_MS - 1);
  assert.equal(mayStart(), true);
  timing.pass(1);
  assert.equal(mayStart(), false);
});

test("[ours.sdk.gate.validity] a clock that is turned back does not extend an approval", () => {
  // Answered four minutes after it was decided: a minute is left.
  const { timing, mayStart } = approved(NOW + 240_000);
  timing.pass(30_000);
  assert.equal(mayStart(), true);
  timing.set(NOW);
  timing.pass(29_000);
  assert.equal(mayStart(), true);
  timing.pass(1_000);
  assert.equal(mayStart(), false);
});

test("[ours.sdk.gate.validity] a clock that is one hour slow does not extend an approval", () => {
  const { timing, mayStart } = approved(NOW - 3_600_000);
  assert.equal(mayStart(), true);
  timing.pass(300_000);
  assert.equal(mayStart(), false);
});

test("[ours.sdk.gate.validity] a clock that is set forward expires an approval; setting it back has no effect", () => {
  const { timing, mayStart } = approved();
  timing.set(NOW + 300_000);
  assert.equal(mayStart(), false);
  timing.set(NOW);
  assert.equal(mayStart(), false);
});

test("[ours.sdk.gate.validity] the wall clock expires an approval while the machine is suspended", () => {
  const { timing, mayStart } = approved();
  // The monotonic clock stops in the meantime.
  timing.set(NOW + 301_000);
  assert.equal(mayStart(), false);
});

test("[ours.sdk.gate.validity] an approval without an expiry is never valid", () => {
  const timing = manualTiming(NOW);
  const decision = { ...DECISION, expiresAt: undefined };
  assert.equal(validityOf(decision, { now: () => NOW, timing, marginMs: 0 })(), false);
});
