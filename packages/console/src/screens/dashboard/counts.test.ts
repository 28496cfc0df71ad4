import assert from "node:assert/strict";
import { test } from "node:test";
import { percent } from "./counts.ts";

test("[ours.console.dashboard] a share is never rounded to none or to all", () => {
  assert.deepEqual(
    [percent(0, 0), percent(0, 9), percent(1, 999), percent(1, 4), percent(998, 999)],
    ["–", "0 %", "< 1 %", "25 %", "> 99 %"],
  );
  assert.equal(percent(3, 3), "100 %");
});
