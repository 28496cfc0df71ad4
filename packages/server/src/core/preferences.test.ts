import assert from "node:assert/strict";
import { test } from "node:test";
import { THEMES } from "@countersign/review-api";
import { DEFAULT_PREFERENCES, readPreferences, writePreferences } from "./preferences.ts";

test("[ours.preferences.checked] preferences are read as they were written", () => {
  const quietHours = { timeZone: "Europe/Berlin", from: "22:00", to: "07:00" } as never;
  for (const theme of THEMES) {
    for (const preferences of [
      {
        theme,
        keys: true,
        afterDecision: "next",
        quietHours: null,
        timeZone: null,
        language: null,
        notify: "all",
        views: [],
      },
      {
        theme,
        keys: false,
        afterDecision: "stay",
        quietHours,
        timeZone: "Asia/Tokyo",
        language: "de",
        notify: "named",
        views: [{ name: "Refunds", query: "q=refund*" }],
      },
    ] as const) {
      assert.deepEqual(readPreferences(writePreferences(preferences)), preferences);
    }
  }
  assert.deepEqual(THEMES, ["system", "light", "dark", "contrast"]);
});

test("[ours.preferences.checked] the defaults are the system theme, shortcut keys, the next request and no quiet hours", () => {
  assert.deepEqual(readPreferences(undefined), {
    theme: "system",
    keys: true,
    afterDecision: "next",
    quietHours: null,
    timeZone: null,
    language: null,
    notify: "all",
    views: [],
  });
});

test("[ours.preferences.checked] a field that an earlier version did not store has its default", () => {
  const text = '{"version":1,"theme":"dark","keys":false,"quietHours":null}';
  assert.deepEqual(readPreferences(text), {
    theme: "dark",
    keys: false,
    afterDecision: "next",
    quietHours: null,
    timeZone: null,
    language: null,
    notify: "all",
    views: [],
  });
});

test("[ours.preferences.checked] reading preferences of an unknown version throws an error", () => {
  const text = writePreferences(DEFAULT_PREFERENCES);
  assert.match(text, /^\{"version":1,/);
  for (const version of [0, 2, null]) {
    const other = JSON.stringify({ ...JSON.parse(text), version });
    assert.throws(() => readPreferences(other), /have the form/);
  }
});
