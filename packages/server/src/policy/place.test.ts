import assert from "node:assert/strict";
import { test } from "node:test";
import { commonPlaces, placeRefusal, placesOf } from "./place.ts";

test("[ours.policy.places] the word chat is every chat, and repetitions count once", () => {
  assert.deepEqual(placesOf(["console", "chat", "slack_app"]), [
    "console",
    "discord",
    "mattermost",
    "slack_app",
    "telegram",
  ]);
});

test("[ours.policy.places] an absent list permits every place", () => {
  assert.deepEqual(commonPlaces(undefined, ["api"]), ["api"]);
  assert.deepEqual(commonPlaces(["api"], undefined), ["api"]);
  assert.equal(commonPlaces(undefined, undefined), undefined);
  assert.equal(placeRefusal(undefined, "telegram"), undefined);
});

test("[ours.policy.places] a refusal names the permitted places", () => {
  assert.equal(placeRefusal(["console"], "console"), undefined);
  assert.equal(
    placeRefusal(["console", "slack_app"], "api"),
    "The rule permits approvals in the console or Slack only. Approve the call there.",
  );
  assert.match(placeRefusal([], "console") ?? "", /at no common place/);
});
