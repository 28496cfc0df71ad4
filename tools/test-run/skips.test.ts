import assert from "node:assert/strict";
import test from "node:test";
import { COUNTS_FILE, judgeSkips, type Skip } from "./skips.ts";

const ONE: Skip = { name: "one", reason: "only on sqlite: it has files" };
const COUNTS = { "it has files": 1 };

test("a counted skip about another engine is listed and passes", () => {
  const skips = [ONE, { ...ONE, name: "two" }];
  const { lines, faults } = judgeSkips(skips, { "it has files": 2 }, true);
  const head = "2 skipped, only on sqlite: it has files";
  assert.deepEqual([lines, faults], [[head, "  - one", "  - two"], []]);
});

test("a skip for any other reason fails the run", () => {
  for (const reason of [
    "true",
    "flaky",
    "only on sqlite",
    "only on sqlite: ",
    "only on mysql: x",
  ]) {
    const { lines, faults } = judgeSkips([{ ...ONE, reason }], {}, true);
    assert.deepEqual(lines, [`1 skipped, ${reason}`, "  - one"]);
    assert.deepEqual(faults, [`"one" is skipped without being about one engine: ${reason}`]);
  }
});

test("another number than is counted fails the run, less as well as more", () => {
  const fault = (now: number, expected: number) =>
    `"it has files": ${now} skipped, ${expected} in ${COUNTS_FILE}; if so, say so there`;
  assert.deepEqual(judgeSkips([ONE], {}, true).faults, [fault(1, 0)]);
  assert.deepEqual(judgeSkips([ONE, ONE], COUNTS, false).faults, [fault(2, 1)]);
  assert.deepEqual(judgeSkips([], COUNTS, true).faults, [fault(0, 1)]);
});

test("when only some files have run, nothing is missed", () => {
  assert.deepEqual(judgeSkips([], COUNTS, false).faults, []);
});
