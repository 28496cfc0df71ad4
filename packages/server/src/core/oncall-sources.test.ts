import assert from "node:assert/strict";
import { test } from "node:test";
import type { RemoteSource } from "./oncall.ts";
import { readSource, sourceRequest } from "./oncall-sources.ts";

const NOW = Date.parse("2026-04-06T10:00:00Z");

const PAGERDUTY: RemoteSource = {
  kind: "pagerduty",
  url: "https://api.pagerduty.com",
  schedule: "PSCHED1",
  token: "u+secret",
};

const OPSGENIE: RemoteSource = {
  kind: "opsgenie",
  url: "https://api.opsgenie.com",
  schedule: "a/b",
  token: "secret",
};

const read = (source: RemoteSource, answer: unknown) =>
  readSource(source, Buffer.from(JSON.stringify(answer)), NOW);

test("[ours.oncall.pagerduty] the request names the schedule and the window, with the token in a header", () => {
  const { url, headers } = sourceRequest(PAGERDUTY, NOW);
  const { pathname, searchParams } = new URL(url);
  assert.equal(pathname, "/oncalls");
  assert.equal(searchParams.get("schedule_ids[]"), "PSCHED1");
  assert.equal(searchParams.get("since"), "2026-04-06T10:00:00.000Z");
  assert.equal(headers.authorization, "Token token=u+secret");
  assert.ok(!url.includes("secret"));
});

test("[ours.oncall.pagerduty] users are on call between start and end, and always without them", async () => {
  const oncalls = [
    {
      user: { id: "PUSER1", summary: "Ana" },
      schedule: { id: "PSCHED1" },
      escalation_level: 1,
      start: "2026-04-06T08:00:00Z",
      end: "2026-04-06T20:00:00Z",
    },
    { user: { id: "PUSER2" }, start: null, end: null },
  ];
  const [ana, always] = await read(PAGERDUTY, { oncalls, more: false });
  assert.deepEqual(ana, {
    who: "PUSER1",
    from: Date.parse("2026-04-06T08:00:00Z"),
    until: Date.parse("2026-04-06T20:00:00Z"),
  });
  assert.equal(always?.who, "PUSER2");
  assert.equal(always?.from, NOW);
});

test("[ours.oncall.opsgenie] recipients are on call now", async () => {
  const { url, headers } = sourceRequest(OPSGENIE, NOW);
  assert.equal(url, "https://api.opsgenie.com/v2/schedules/a%2Fb/on-calls?flat=true");
  assert.equal(headers.authorization, "GenieKey secret");
  const data = { _parent: { id: "x" }, onCallRecipients: ["ana@example.com"] };
  const [shift] = await read(OPSGENIE, { data, took: 0.1 });
  assert.equal(shift?.who, "ana@example.com");
  assert.equal(shift?.from, NOW);
});

test("[ours.oncall.pagerduty] [ours.oncall.opsgenie] other answers are errors", async () => {
  for (const source of [PAGERDUTY, OPSGENIE]) {
    await assert.rejects(read(source, {}));
    await assert.rejects(read(source, { oncalls: [{ user: {} }], data: {} }));
    await assert.rejects(readSource(source, Buffer.from("<html>"), NOW));
  }
});
