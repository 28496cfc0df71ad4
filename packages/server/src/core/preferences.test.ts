import assert from "node:assert/strict";
import { test } from "node:test";
import { THEMES } from "@countersign/review-api";
import { DEFAULT_PREFERENCES, readPreferences, writePreferences } from "./preferences.ts";

test("[ours.preferences.checked] preferences are read as they were written", () => {
  const quietHours = { timeZone: "Europe/Berlin", from: "22:00", to: "07:00" } as never;
  for (const theme of THEMES) {
    for (const preferences of [
      { theme, keys: true, quietHours: null },
      { theme, keys: false, quietHours },
    ]) {
      assert.deepEqual(readPreferences(writePreferences(preferences)), preferences);
    }
  }
  assert.deepEqual(THEMES, ["system", "light", "dark"]);
});

test("[ours.preferences.checked] the defaults are the system theme, shortcut keys and no quiet hours", () => {
  assert.deepEqual(readPreferences(undefined), { theme: "system", keys: true, quietHours: null });
});

test("[ours.preferences.checked] reading preferences of an unknown version throws an error", () => {
  const text = writePreferences(DEFAULT_PREFERENCES);
  assert.match(text, /^\{"version":1,/);
  for (const version of [0, 2, null]) {
    const other = JSON.stringify({ ...JSON.parse(text), version });
    assert.throws(() => readPreferences(other), /have the form/);
  }
});
