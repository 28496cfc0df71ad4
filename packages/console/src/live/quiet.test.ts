import assert from "node:assert/strict";
import { test } from "node:test";
import { isQuiet } from "./quiet.ts";

const NIGHT = { from: "22:00", to: "07:30", time_zone: "Europe/Berlin" };

test("[ours.notify.open] quiet hours include their start and not their end, also over midnight", () => {
  // Berlin is one hour ahead of UTC in January.
  const cases = [
    ["20:59", false],
    ["21:00", true],
    ["23:00", true],
    ["06:29", true],
    ["06:30", false],
    ["12:00", false],
  ] as const;
  for (const [time, expected] of cases) {
    assert.equal(isQuiet(NIGHT, Date.parse(`2026-01-01T${time}:00Z`)), expected, time);
  }
  const noon = { from: "11:00", to: "13:00", time_zone: "UTC" };
  assert.equal(isQuiet(noon, Date.parse("2026-01-01T12:00:00Z")), true);
  assert.equal(isQuiet(noon, Date.parse("2026-01-01T13:00:00Z")), false);
  assert.equal(isQuiet(null, 0), false);
});
