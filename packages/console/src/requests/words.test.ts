import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { itemSources } from "../exact/source.ts";
import { ANY_REVIEWER } from "./requirement-fixture.ts";
import * as words from "./words.ts";

test("[ours.inbox.page] the required approvers and their number are described", () => {
  const cases: [Partial<words.ApprovalRequirement>, string][] = [
    [{}, "Any one reviewer"],
    [{ quorum: 2, bots: true }, "2 different reviewers; bots may approve"],
    [{ from: [["group:dba", "reviewer:ana"]] }, "One of group dba or ana"],
    [{ from: [["group:dba"]], quorum: 2 }, "2 of group dba"],
    [
      { from: [["group:dba"], ["reviewer:li"]], quorum: 3, quorums: [2, 1], exclude: ["owner"] },
      "3 different reviewers: 2 of group dba, and 1 of li; not the instance's owner",
    ],
  ];
  for (const [some, text] of cases)
    assert.equal(words.describeApprovers({ ...ANY_REVIEWER, ...some }), text);
});

test("[ours.escalate.shown] a step of an escalation is described with its time", () => {
  const [now, to] = [Date.UTC(2026, 0, 1), "group:leads"];
  const at = (ms: number) => new Date(now + ms).toISOString();
  const step = (ms: number, done?: number) =>
    words.describeEscalation(
      { to, at: at(ms), done_at: done === undefined ? undefined : at(done) },
      now,
    );
  assert.equal(step(250_000), "to group leads in 4 min 10 s");
  assert.equal(step(0), "to group leads now");
  assert.equal(step(-130_000, -120_000), "to group leads, 2 min ago");
});

test("[ours.inbox.now] missing approvals, the outcome and the time left are described", () => {
  const requirement = { ...ANY_REVIEWER, from: [["group:dba"]], quorum: 2 };
  const missing = words.stillMissing({ requirement, votes: [{}] });
  assert.equal(missing, "1 more person of group dba must approve.");
  assert.equal(words.countVotes({ requirement, votes: [{}] }), "1 of 2 approvals");
  assert.equal(words.countVotes({ requirement: ANY_REVIEWER, votes: [] }), "");
  const outcomes: [words.Ended, string][] = [
    [{ status: "denied", decided_by: "reviewer:1", decider: "ana" }, "Denied by ana"],
    [{ status: "approved", decided_by: "reviewer:1", decider: "me" }, "Approved by you"],
    [{ status: "cancelled", decided_by: "instance:1" }, "Cancelled by the agent"],
    [{ status: "denied", decided_by: "freeze:1" }, "Denied by a freeze"],
    [
      { status: "denied", decided_by: "freeze:1", freeze: { reviewer: "ana" } },
      "Denied by a freeze of ana",
    ],
    [
      { status: "denied", decided_by: "freeze:1", freeze: { reviewer: "me" } },
      "Denied by your freeze",
    ],
    [{ status: "approved", decided_by: "policy:small" }, "Approved by policy: small"],
  ];
  for (const [ended, text] of outcomes) assert.equal(words.outcomeOf(ended, "me"), text);
  const times: [number, string][] = [
    [0, "Time is up"],
    [1, "1 s left"],
    [61_000, "1 min 01 s left"],
    [3_600_000, "1 h 00 min left"],
    [172_800_000, "2 days left"],
  ];
  for (const [ms, text] of times) assert.equal(words.timeLeft(ms), text);
});

test("[ours.inbox.exact] the exact members of a list are found", () => {
  assert.deepEqual(itemSources('[ 1.10 ,{"a":"],"}, [1e400]]'), ["1.10", '{"a":"],"}', "[1e400]"]);
  assert.deepEqual(itemSources("[]"), []);
  fc.assert(
    fc.property(fc.array(fc.json()), (items) => {
      assert.deepEqual(
        itemSources(`[${items.join(" , ")}]`),
        items.map((item) => item.trim()),
      );
    }),
  );
});
