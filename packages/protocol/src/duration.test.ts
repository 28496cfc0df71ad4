import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatDuration, parseDuration } from "./duration.ts";

test("[scalar.duration.accepted] a positive whole number of seconds, minutes or hours is a duration", () => {
  assert.equal(parseDuration("1s"), 1_000);
  assert.equal(parseDuration("90s"), 90_000);
  assert.equal(parseDuration("1m"), 60_000);
  assert.equal(parseDuration("60m"), 3_600_000);
  assert.equal(parseDuration("24h"), 86_400_000);
  assert.equal(parseDuration("100h"), 360_000_000);
});

test("[scalar.duration.refused] any other text is not a duration", () => {
  const zeros = ["0s", "0m", "0h", "00s", "01s", "0s1m", "-1s", "+1s", "1.5h", "1,5h", "1e3s"];
  const units = ["1", "s", "", "1ms", "1d", "1w", "1S", "1M", "1H", "1sec", "1h30m", "1s1s", "m1"];
  const spaces = [" 1s", "1s ", "1 s", "1s\n", "\n1s", "1s\0", "1_000s", "0x1s", "١s", "１s", "1ſ"];
  for (const text of [...zeros, ...units, ...spaces, "PT1S", "Infinitys", "NaNs", "1s\r\n"]) {
    assert.equal(parseDuration(text), undefined, JSON.stringify(text));
  }
});

test("[scalar.duration.accepted] every whole number of a unit is read exactly", () => {
  const units = fc.constantFrom(["s", 1_000] as const, ["m", 60_000] as const, ["h", 3_600_000]);
  const property = fc.property(
    fc.integer({ min: 1, max: 2_000_000_000 }),
    units,
    (n, [unit, ms]) => {
      assert.equal(parseDuration(`${n}${unit}`), n * Number(ms));
    },
  );
  fc.assert(property);
});

test("[ours.limit.duration.huge] a duration of any number of digits is read", () => {
  assert.equal(parseDuration(`1${"0".repeat(15)}s`), 1e18);
  assert.equal(parseDuration(`${"9".repeat(400)}h`), Number.POSITIVE_INFINITY);
  assert.equal(parseDuration(`${"9".repeat(1_000_000)}s`), Number.POSITIVE_INFINITY);
});

test("whole seconds are written in the largest unit that holds them", () => {
  const cases = { "1s": 1_000, "90s": 90_000, "2m": 120_000, "1h": 3_600_000, "168h": 604_800_000 };
  for (const [text, ms] of Object.entries(cases)) assert.equal(formatDuration(ms), text);
  const property = fc.property(fc.integer({ min: 1, max: 10_000_000 }), (seconds) => {
    assert.equal(parseDuration(formatDuration(seconds * 1_000)), seconds * 1_000);
  });
  fc.assert(property);
});
