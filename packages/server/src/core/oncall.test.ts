import assert from "node:assert/strict";
import { test } from "node:test";
import { rotaReviewer, type StaticRota, whoIsOnCall } from "./oncall.ts";

const WEEKLY: StaticRota = {
  kind: "static",
  reviewers: ["ana", "ben", "cleo"],
  // Monday, 09:00 in Berlin.
  startsAt: Date.parse("2026-03-16T08:00:00Z"),
  days: 7,
  timeZone: "Europe/Berlin",
};

const at = (text: string, rota = WEEKLY) => rotaReviewer(rota, Date.parse(text));

test("[ours.oncall.static] reviewers take turns, from the first shift on", () => {
  assert.equal(at("2026-03-16T07:59:59Z"), undefined);
  assert.equal(at("2026-03-16T08:00:00Z"), "ana");
  assert.equal(at("2026-03-23T07:59:59Z"), "ana");
  assert.equal(at("2026-03-23T08:00:00Z"), "ben");
  assert.equal(at("2026-04-06T08:00:00Z"), "ana");
});

test("[ours.oncall.static] a handover stays at its local time across a clock change", () => {
  // Summer time started on 2026-03-29, so 09:00 in Berlin is 07:00 UTC.
  assert.equal(at("2026-03-30T06:59:59Z"), "ben");
  assert.equal(at("2026-03-30T07:00:00Z"), "cleo");
  // Winter time starts on 2026-10-25.
  const before = at("2026-10-26T07:59:59Z");
  assert.notEqual(at("2026-10-26T08:00:00Z"), before);
});

test("[ours.oncall.shifts] current people count once, and the end of a shift is not part of it", () => {
  const shifts = [
    { who: "a", from: 0, until: 10 },
    { who: "b", from: 5, until: 15 },
    { who: "a", from: 8, until: 20 },
  ];
  assert.deepEqual(whoIsOnCall(shifts, 9), ["a", "b"]);
  assert.deepEqual(whoIsOnCall(shifts, 15), ["a"]);
  assert.deepEqual(whoIsOnCall(shifts, 20), []);
});
