import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { startOfDate, startOfDay, startOfHour } from "./calendar.ts";
import { timeZone } from "./time-words.ts";

const iso = (at: number | undefined) => new Date(at ?? Number.NaN).toISOString();

afterEach(() => {
  timeZone.value = undefined;
});

test("[ours.console.settings.preferences] days and hours start by the chosen time zone", () => {
  const at = Date.parse("2026-11-28T20:45:10.500Z");
  timeZone.value = "Asia/Kolkata";
  assert.equal(iso(startOfDay(at)), "2026-11-28T18:30:00.000Z");
  assert.equal(iso(startOfDay(at, 2)), "2026-11-26T18:30:00.000Z");
  assert.equal(iso(startOfHour(at)), "2026-11-28T20:30:00.000Z");
  assert.equal(iso(startOfDate("2026-11-28", 1)), "2026-11-28T18:30:00.000Z");
  timeZone.value = "America/New_York";
  assert.equal(iso(startOfDay(at)), "2026-11-28T05:00:00.000Z");
});

test("[ours.console.settings.preferences] a day with a change of the clock starts at midnight", () => {
  timeZone.value = "Europe/Berlin";
  assert.equal(iso(startOfDate("2026-03-29")), "2026-03-28T23:00:00.000Z");
  assert.equal(iso(startOfDate("2026-03-29", 1)), "2026-03-29T22:00:00.000Z");
  assert.equal(iso(startOfDate("2026-10-25", 1)), "2026-10-25T23:00:00.000Z");
  assert.equal(iso(startOfDay(Date.parse("2026-10-25T12:00:00Z"))), "2026-10-24T22:00:00.000Z");
});

test("a text that is not a day has no start", () => {
  for (const text of ["", "2026", "2026-1-1", "tomorrow"])
    assert.equal(startOfDate(text), undefined);
});
