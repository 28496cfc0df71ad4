import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isFresh,
  isLastSeenStale,
  isLive,
  OIDC_CEREMONY_MS,
  SESSION_FRESH_MS,
  SESSION_IDLE_MS,
  SESSION_LIFETIME_MS,
  SESSION_SEEN_MS,
} from "./session.ts";

const BEGUN = 1_700_000_000_000;
const HOUR = 3_600_000;
const MINUTE = 60_000;

test("[ours.sign-in.session] a session lasts twelve hours, an hour without use, and is fresh for ten minutes", () => {
  assert.deepEqual(
    [SESSION_LIFETIME_MS, SESSION_IDLE_MS, SESSION_SEEN_MS, SESSION_FRESH_MS, OIDC_CEREMONY_MS],
    [12 * HOUR, HOUR, MINUTE, 10 * MINUTE, 5 * MINUTE],
  );
});

test("[ours.sign-in.session] a session is live until its end and until an hour after its last use, neither included", () => {
  const session = { createdAt: BEGUN, seenAt: BEGUN, expiresAt: BEGUN + 12 * HOUR };
  assert.equal(isLive(session, BEGUN), true);
  assert.equal(isLive(session, BEGUN + HOUR - 1), true);
  assert.equal(isLive(session, BEGUN + HOUR), false);
  const used = { ...session, seenAt: BEGUN + 12 * HOUR - 1 };
  assert.equal(isLive(used, BEGUN + 12 * HOUR - 1), true);
  assert.equal(isLive(used, BEGUN + 12 * HOUR), false);
});

test("[ours.sign-in.session] a use is recorded again after a minute", () => {
  assert.equal(isLastSeenStale({ seenAt: BEGUN }, BEGUN + MINUTE - 1), false);
  assert.equal(isLastSeenStale({ seenAt: BEGUN }, BEGUN + MINUTE), true);
});

test("[ours.people.fresh] a sign-in is fresh for ten minutes, the last moment not included", () => {
  assert.equal(isFresh({ createdAt: BEGUN }, BEGUN + 10 * MINUTE - 1), true);
  assert.equal(isFresh({ createdAt: BEGUN }, BEGUN + 10 * MINUTE), false);
});
