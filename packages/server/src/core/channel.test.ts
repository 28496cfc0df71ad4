import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pace } from "./channel.ts";
import {
  coversRequirement,
  remindAt,
  retryDelayMs,
  sendingStatus,
  sendingText,
} from "./channel.ts";
import { nextSending, paceAfter } from "./channel-pace.ts";
import { shownTarget } from "./channel-target.ts";

const IDLE: Pace = { minuteAt: null, messages: 0, sentAt: null };

function due(count: number, since = 0, deadlineAt = 3_600_000) {
  return Array.from({ length: count }, () => ({ since, deadlineAt }));
}

test("[ours.notify.groups] a channel announces requests by the groups of their requirement", () => {
  const cases = [
    [[], [], true],
    [[], [["group:a"]], true],
    [["a"], [], false],
    [["*"], [], true],
    [["*"], [["group:a"]], false],
    [["a"], [["group:b"], ["reviewer:x", "group:a"]], true],
    [["a"], [["reviewer:a"]], false],
    [["a", "b"], [["group:a", "group:b"]], true],
  ] as const;
  for (const [groups, from, expected] of cases) {
    const covers = coversRequirement({ groups, instanceIds: [] }, { from, instanceId: "i" });
    assert.equal(covers, expected, JSON.stringify([groups, from]));
  }
});

test("[ours.notify.instances] a channel with instances announces requests of these only", () => {
  const channel = { groups: [], instanceIds: ["a", "b"] };
  assert.equal(coversRequirement(channel, { from: [], instanceId: "a" }), true);
  assert.equal(coversRequirement(channel, { from: [], instanceId: "c" }), false);
});

test("[ours.notify.reminder] there is no reminder where it would come right behind the message", () => {
  const at = (remindMs: number | null, windowMs: number) =>
    remindAt({ remindMs }, { createdAt: 1_000, deadlineAt: 1_000 + windowMs });
  assert.equal(at(null, 1_000), undefined);
  assert.equal(at(300, 1_000), 1_700);
  assert.equal(at(500, 1_000), 1_500);
  assert.equal(at(501, 1_000), undefined);
});

test("[ours.notify.interval] a channel with digests waits for its interval, unless a deadline is near", () => {
  const hour = 3_600_000;
  const sent = { ...IDLE, sentAt: 0 };
  const day = due(1, 60_000, 24 * hour);
  assert.deepEqual(nextSending(IDLE, 0, day, 60_000, hour), { kind: "wait", until: 60_000 + hour });
  assert.deepEqual(nextSending(sent, 0, day, 60_000, hour), { kind: "wait", until: hour });
  assert.deepEqual(nextSending(sent, 0, day, hour, hour), { kind: "digest" });
  // A quarter of 20 minutes.
  const near = due(1, 0, 20 * 60_000);
  assert.deepEqual(nextSending(sent, 0, near, 0, hour), { kind: "wait", until: 5 * 60_000 });
  assert.deepEqual(nextSending(sent, 0, near, 5 * 60_000, hour), { kind: "digest" });
});

test("[ours.notify.digest] ten messages a minute come one by one, more come as one", () => {
  assert.deepEqual(nextSending(IDLE, 0, due(10), 0), { kind: "one" });
  assert.deepEqual(nextSending(IDLE, 0, due(11), 0), { kind: "digest" });
  let pace = IDLE;
  for (let now = 0; now < 10_000; now += 1_000) {
    assert.deepEqual(nextSending(pace, 0, due(1, now), now), { kind: "one" });
    pace = paceAfter(pace, "one", now);
  }
  assert.deepEqual(nextSending(pace, 0, due(2, 9_000), 10_000), { kind: "wait", until: 60_000 });
  assert.deepEqual(nextSending(pace, 0, due(2, 9_000), 60_000), { kind: "one" });
  const soon = due(2, 9_000, 49_000);
  assert.deepEqual(nextSending(pace, 0, soon, 10_000), { kind: "wait", until: 19_000 });
  assert.deepEqual(nextSending(pace, 0, soon, 19_000), { kind: "digest" });
  const hasty = due(1, 9_000, 10_000);
  assert.deepEqual(nextSending(pace, 0, hasty, 10_000), { kind: "wait", until: 14_000 });
  assert.deepEqual(nextSending(pace, 0, hasty, 14_000), { kind: "one" });
});

test("[ours.notify.digest] a digest makes a minute quiet, and after a failure what piled up is one", () => {
  const pace = paceAfter(IDLE, "digest", 5_000);
  assert.deepEqual(nextSending(pace, 0, due(3, 6_000), 6_000), { kind: "wait", until: 65_000 });
  assert.deepEqual(nextSending(IDLE, 1, due(2), 0), { kind: "digest" });
  assert.deepEqual(nextSending(IDLE, 1, due(1), 0), { kind: "one" });
  const first = paceAfter(IDLE, "one", 7_000);
  const both = { minuteAt: 7_000, messages: 2, sentAt: 7_000 };
  assert.deepEqual(paceAfter(first, "one", 7_000), both, "of one moment too");
  // A clock that was set back does not keep a channel quiet.
  assert.deepEqual(nextSending(pace, 0, due(1), 4_000), { kind: "one" });
});

test("[ours.notify.retried] the retry delay of a channel doubles from 2 s to a minute, or is its Retry-After up to an hour", () => {
  const reset = { kind: "unreachable", reason: "reset" } as const;
  assert.deepEqual(
    [1, 2, 5, 6, 40].map((failures) => retryDelayMs(failures, reset, 0)),
    [1_000, 2_000, 16_000, 30_000, 30_000],
  );
  assert.equal(retryDelayMs(1, reset, 0.999), 1_999);
  const busy = { kind: "rejected", status: 429, retryAfterMs: 90_000 } as const;
  assert.equal(retryDelayMs(1, busy, 0), 90_000);
  assert.equal(retryDelayMs(1, { ...busy, retryAfterMs: 10 ** 9 }, 0), 3_600_000);
});

test("[ours.notify.secrets] of a target only the host, or first letter and domain, are shown", () => {
  const url = "https://hooks.slack.example:8443/services/T0/SECRET";
  assert.equal(shownTarget({ kind: "slack", url }), "https://hooks.slack.example:8443/...");
  assert.equal(shownTarget({ kind: "email", to: ["anna@a.example"] }), "a...@a.example");
  const to = ["anna@a.example", "b@b.example", "c@c.example"];
  assert.equal(shownTarget({ kind: "email", to }), "a...@a.example and 2 more");
  const bot = { token: "SECRET", conversation: "42", secret: "SECRET" };
  assert.equal(shownTarget({ kind: "telegram", ...bot }), "Telegram chat 42");
  assert.equal(shownTarget({ kind: "discord", ...bot }), "Discord channel 42");
  const server = "https://chat.example/team";
  const mattermost = { kind: "mattermost", url: server, ...bot } as const;
  assert.equal(shownTarget(mattermost), "chat.example, channel 42");
});

test("[ours.notify.test] the outcome of a message has its kind, the reason when unreachable, and the status", () => {
  const unreachable = { kind: "unreachable", reason: "tls" } as const;
  const rejected = { kind: "rejected", status: 410, retryAfterMs: undefined } as const;
  assert.equal(sendingText(unreachable), "unreachable:tls");
  assert.equal(sendingText(rejected), "rejected");
  assert.equal(sendingStatus(unreachable), null);
  assert.equal(sendingStatus(rejected), 410);
});
