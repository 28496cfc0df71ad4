import assert from "node:assert/strict";
import { test } from "node:test";
import { historyPath, RANGES, rangeOf, startOf } from "./range.ts";

const [DAY, , MONTH] = RANGES;

test("[ours.console.dashboard] an unknown range in the address is the default of 7 days", () => {
  assert.equal(rangeOf(new URLSearchParams("range=24h")).name, "24h");
  for (const text of ["", "range=1y"]) assert.equal(rangeOf(new URLSearchParams(text)).name, "7d");
});

test("[ours.console.dashboard] a range starts with a whole hour or day of the reader", () => {
  const now = new Date(2026, 10, 28, 14, 3, 5).getTime();
  assert.ok(DAY && MONTH);
  assert.deepEqual(startOf(DAY, now), new Date(2026, 10, 27, 15));
  assert.deepEqual(startOf(MONTH, now), new Date(2026, 9, 30));
});

test("[ours.console.dashboard] a link to the history has the filters and the start", () => {
  assert.equal(
    historyPath("2026-11-22T00:00:00.000Z", { tool: "a b" }),
    "/history?tool=a+b&from=2026-11-22T00%3A00%3A00.000Z",
  );
});
