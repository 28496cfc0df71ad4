import assert from "node:assert/strict";
import { test } from "node:test";
import { isSubscriptionGone, PUSH_CHANNEL } from "./push.ts";

test("[ours.push.kept] a browser is gone when its push service says so, and after no other answer", () => {
  for (const status of [404, 410]) assert.equal(isSubscriptionGone(status), true);
  for (const status of [null, 200, 201, 400, 401, 403, 405, 409, 411, 429, 500, 503]) {
    assert.equal(isSubscriptionGone(status), false);
  }
});

test("[ours.push.kept] the channel name in stored push announcements does not change", () => {
  assert.equal(PUSH_CHANNEL, "push");
});
