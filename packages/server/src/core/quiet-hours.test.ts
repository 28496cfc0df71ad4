import assert from "node:assert/strict";
import { test } from "node:test";
import { isTimeZone, quietHoursEndAt, writeWallClock } from "./quiet-hours.ts";

const at = (text: string) => Date.parse(text);

test("[ours.push.quiet] quiet hours go past midnight, by the clock of their time zone", () => {
  const hours = { from: 22 * 60, to: 7 * 60, timeZone: "Europe/Berlin" };
  const cases: [string, string][] = [
    ["2026-01-01T20:59:59.999Z", "2026-01-01T20:59:59.999Z"],
    ["2026-01-01T21:00:00.000Z", "2026-01-02T06:00:00.000Z"],
    ["2026-01-02T03:30:12.345Z", "2026-01-02T06:00:00.000Z"],
    ["2026-01-02T05:59:59.999Z", "2026-01-02T06:00:00.000Z"],
    ["2026-01-02T06:00:00.000Z", "2026-01-02T06:00:00.000Z"],
    ["2026-07-01T20:30:00.000Z", "2026-07-02T05:00:00.000Z"],
  ];
  for (const [now, loud] of cases) assert.equal(quietHoursEndAt(hours, at(now)), at(loud), now);
  const noon = { from: 12 * 60, to: 13 * 60, timeZone: "UTC" };
  assert.equal(quietHoursEndAt(noon, at("2026-01-01T12:15:00Z")), at("2026-01-01T13:00:00Z"));
  assert.equal(quietHoursEndAt(noon, at("2026-01-01T13:15:00Z")), at("2026-01-01T13:15:00Z"));
  assert.equal(quietHoursEndAt(null, 5), 5);
});

test("[ours.preferences.checked] times are written as HH:MM, and only known time zones are accepted", () => {
  assert.deepEqual([0, 450, 1439].map(writeWallClock), ["00:00", "07:30", "23:59"]);
  assert.deepEqual(["Europe/Berlin", "UTC"].map(isTimeZone), [true, true]);
  assert.deepEqual(["", "Mars/Base"].map(isTimeZone), [false, false]);
});
