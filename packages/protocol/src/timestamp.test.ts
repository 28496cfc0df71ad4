import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatTimestamp, parseTimestamp } from "./timestamp.ts";

test("[scalar.timestamp.format] a timestamp is RFC 3339 in UTC with milliseconds and ends in Z", () => {
  assert.equal(formatTimestamp(0), "1970-01-01T00:00:00.000Z");
  assert.equal(formatTimestamp(1_767_225_599_999), "2025-12-31T23:59:59.999Z");
  assert.equal(formatTimestamp(1_709_164_800_001), "2024-02-29T00:00:00.001Z");
});

test("[scalar.timestamp.format] timestamps read back to the same millisecond and sort like time", () => {
  const year10000 = 253_402_300_800_000;
  const time = fc.integer({ min: 0, max: year10000 - 1 });
  const property = fc.property(time, time, (a, b) => {
    const [one, other] = [formatTimestamp(a), formatTimestamp(b)];
    assert.match(one, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
    assert.equal(Date.parse(one), a);
    assert.equal(one < other, a < b);
  });
  fc.assert(property);
});

test("[scalar.timestamp.format] a timestamp that is read is what was written, cut to the millisecond", () => {
  const texts: [string, number][] = [
    ["1970-01-01T00:00:00Z", 0],
    ["2024-02-29T00:00:00.001Z", 1_709_164_800_001],
    ["2024-02-29T00:00:00.0019999Z", 1_709_164_800_001],
    ["2024-02-29T00:00:00.5Z", 1_709_164_800_500],
  ];
  for (const [text, ms] of texts) assert.equal(parseTimestamp(text), ms, text);
  const year10000 = 253_402_300_800_000;
  const property = fc.property(fc.integer({ min: 0, max: year10000 - 1 }), (ms) => {
    assert.equal(parseTimestamp(formatTimestamp(ms)), ms);
  });
  fc.assert(property);
});

test("[scalar.timestamp.format] text that is not a UTC time, or not a calendar date, is rejected", () => {
  const texts = [
    "",
    "0",
    "2026-01-01",
    "2026-01-01T00:00Z",
    "2026-01-01T00:00:00",
    "2026-01-01 00:00:00Z",
    "2026-01-01T00:00:00z",
    "2026-01-01t00:00:00Z",
    "2026-01-01T00:00:00+00:00",
    "2026-02-30T00:00:00Z",
    "2025-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T00:60:00Z",
    "2026-01-01T00:00:60Z",
    "2026-01-01T00:00:00.Z",
    "2026-01-01T00:00:00Z\n",
    "+002026-01-01T00:00:00Z",
    "never",
  ];
  for (const text of texts) assert.equal(parseTimestamp(text), undefined, text);
});
