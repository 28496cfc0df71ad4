import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatTimestamp } from "./timestamp.ts";

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
