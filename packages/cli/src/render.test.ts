import assert from "node:assert/strict";
import { test } from "node:test";
import { parseExact, type ReviewedRequest } from "@countersign/review-api";
import { renderCard, renderTable, timeLeft } from "./render.ts";

const NOW = Date.UTC(2026, 0, 1);
const ID = "01a1fb6b-6ba3-7554-8ce5-a39d503b8141";
const INSTANCE = { id: "01a1fb6b-6ba3-7554-8ce5-000000000000", name: "quiet-heron-7k2m" };

const ARGUMENTS = '{"env":"prod","count":9007199254740993}';
const DIGEST = "e07306b13f5a40f1071c17b3760165068db0920afd71b294bb4563f61beeaf0d";

const PENDING = {
  id: ID,
  tool: "deploy",
  arguments: exact(ARGUMENTS),
  timeout: "5m",
  status: "pending",
  created_at: "2026-01-01T00:00:00.000Z",
  deadline_at: "2026-01-01T00:04:51.000Z",
  instance: INSTANCE,
  arguments_sha256: DIGEST,
  policy: {
    verdict: "ask",
    because: "no-policy",
    fired: [],
    errors: [],
    versions: { project: null, floor: null },
  },
  requirement: {
    from: [],
    quorum: 1,
    exclude: [],
    confirm: { kind: "click" },
    note: "optional",
    grants: true,
    bots: false,
  },
  votes: [],
  may_decide: { approve: true, deny: true },
} satisfies ReviewedRequest;

function exact(source: string): ReviewedRequest["arguments"] {
  return parseExact(source) as ReviewedRequest["arguments"];
}

/** A card with a change of the tool. */
function changeIn(change: unknown): string {
  const context = exact(JSON.stringify({ tool_definition_change: change }));
  return renderCard({ ...PENDING, context }, NOW);
}

test("[ours.request.tool-change] a card shows the changed definition of a tool beside the earlier one", () => {
  const card = changeIn({ before: '{"name":"pay"}', after: '{"name":"pay","title":"\u200b"}' });
  const title = "changed    the definition of this tool changed since its last approved call\n";
  const before = '  before\n    {\n      "name": "pay"\n    }\n';
  const after = '  after\n    {\n      "name": "pay",\n      "title": "\\u{200B}"\n    }\n';
  assert.ok(card.includes(title + before + after), card);
  for (const change of [{ before: "{}" }, { before: "{", after: "{}" }, null]) {
    assert.match(changeIn(change), /\n {2}The adapter does not report both definitions\.\n/);
  }
  assert.doesNotMatch(renderCard(PENDING, NOW), /changed/);
});

const HOSTILE = "\u001b[2J\u202e\u009b1mnice\r";
const SHOWN = "\\u{001B}[2J\\u{202E}\\u{009B}1mnice\\u{000D}";

test("[ours.cli.requests.decide] a card shows everything that a decision needs", () => {
  const card = renderCard(
    { ...PENDING, agent_reasoning: "It is\ntime.", context: exact('{"repo":1}') },
    NOW,
  );
  assert.equal(
    card,
    `request    ${ID}
status     pending, 4m 51s left
tool       deploy
instance   quiet-heron-7k2m  01a1fb6b-6ba3-7554-8ce5-000000000000
created    2026-01-01T00:00:00.000Z
arguments  sha256 ${DIGEST}
  {
    "env": "prod",
    "count": 9007199254740993
  }
context    observed by the adapter
  {
    "repo": 1
  }
reasoning  claim by the agent, not verified
  > It is
  > time.`,
  );
});

test("[ours.escalate.shown] a card shows the steps of an escalation with their times", () => {
  const [at, done_at] = ["2026-01-01T00:05:00.000Z", "2026-01-01T00:05:00.400Z"];
  const escalate = [
    { to: "group:leads", at, done_at },
    { to: `group:${HOSTILE}`, at },
  ];
  const card = renderCard({ ...PENDING, requirement: { ...PENDING.requirement, escalate } }, NOW);
  assert.ok(card.includes(`\nescalation to group:leads since ${done_at}\n`), card);
  assert.ok(card.includes(`\nescalation to group:${SHOWN} at ${at}\n`), card);
});

test("[ours.cli.requests.decide] the card of a decided request shows the decider, the time and the validity", () => {
  const decision = {
    status: "approved" as const,
    note: "go",
    decided_at: "2026-01-01T00:01:00.000Z",
    expires_at: "2026-01-01T00:06:00.000Z",
  };
  const decided = { ...PENDING, status: decision.status, decision, decided_by: "reviewer:7" };
  const card = renderCard(decided, NOW);
  const status =
    "approved by reviewer:7 at 2026-01-01T00:01:00.000Z, usable until 2026-01-01T00:06:00.000Z";
  assert.match(card, new RegExp(`^status     ${status}$`, "m"));
  assert.match(card, /^note {7}go$/m);
});

test("[ours.cli.requests.decide] the card of a request that a freeze denied shows who set the freeze", () => {
  const decision = { status: "denied" as const, decided_at: "2026-01-01T00:01:00.000Z" };
  const frozen_at = "2026-01-01T00:00:59.000Z";
  const frozenBy = (reviewer: object) => {
    const freeze = { frozen_by: "reviewer:7", frozen_at, ...reviewer };
    const decided = { status: decision.status, decision, decided_by: "freeze:9", freeze };
    return renderCard({ ...PENDING, ...decided }, NOW);
  };
  const status = `status     denied by freeze:9 at ${decision.decided_at}, frozen by`;
  assert.ok(frozenBy({ reviewer: HOSTILE }).includes(`${status} ${SHOWN} at ${frozen_at}\n`));
  assert.ok(frozenBy({}).includes(`${status} reviewer:7 at ${frozen_at}\n`));
});

test("[ours.cli.untrusted-text] a card escapes every text of an agent or reviewer", () => {
  const json = JSON.stringify({ [HOSTILE]: HOSTILE });
  const card = renderCard(
    {
      ...PENDING,
      tool: HOSTILE,
      instance: { id: "7", name: HOSTILE },
      agent_reasoning: `${HOSTILE}\n${HOSTILE}`,
      arguments: exact(json),
      context: exact(json),
      status: "denied",
      decided_by: "reviewer:7",
      decision: { status: "denied", note: HOSTILE, decided_at: "" },
    },
    NOW,
  );
  assert.doesNotMatch(card.replaceAll("\n", ""), /[\p{Cc}\p{Cf}]/u);
  assert.ok(card.includes(`tool       ${SHOWN}\n`));
  assert.ok(card.includes(`instance   ${SHOWN}  7\n`));
  assert.ok(card.includes(`  > ${SHOWN}\n  > ${SHOWN}\n`));
  assert.ok(card.endsWith(`note       ${SHOWN}`));
});

test("[ours.cli.untrusted-text] a row of a table stays one line of escaped text", () => {
  const hostileArguments = exact(JSON.stringify({ text: `${HOSTILE}\u2028` }));
  const hostile = { ...PENDING, tool: `${HOSTILE}\n`, instance: { id: "7", name: HOSTILE } };
  const table = renderTable([{ ...hostile, arguments: hostileArguments }, PENDING], NOW, 200);
  assert.equal(table.split("\n").length, 3);
  assert.doesNotMatch(table.replaceAll("\n", ""), /[\p{Cc}\p{Cf}\p{Zl}]/u);
});

test("[ours.cli.requests.decide] a table has its columns under each other and fits the terminal", () => {
  const long = { ...PENDING, tool: "x".repeat(50), arguments: exact(`{"a":"${"y".repeat(200)}"}`) };
  const [head = "", ...rows] = renderTable([PENDING, long], NOW, 140).split("\n");
  const columns = ["REQUEST", "LEFT", "TOOL", "INSTANCE", "ARGUMENTS"].map((c) => head.indexOf(c));
  for (const row of rows) {
    assert.ok(row.length <= 140, row);
    for (const column of columns) assert.match(row.slice(column), /^[^ ]/);
  }
});

test("[ours.cli.requests.decide] a table shows a server column when a request names a server", () => {
  const named = { ...PENDING, server: HOSTILE };
  const [head = "", ...rows] = renderTable([PENDING, named], NOW, 200).split("\n");
  const at = head.indexOf("SERVER");
  assert.deepEqual(
    rows.map((row) => row.slice(at).trimStart().slice(0, 8)),
    ["quiet-he", SHOWN.slice(0, 8)],
  );
  assert.doesNotMatch(renderTable([PENDING], NOW, 200), /SERVER/);
});

test("[ours.cli.requests.decide] the time left is shown in its two largest units and is never negative", () => {
  const left = (ms: number) => timeLeft(new Date(NOW + ms).toISOString(), NOW);
  assert.equal(left(-5_000), "0s");
  assert.equal(left(59_999), "59s");
  assert.equal(left(291_000), "4m 51s");
  assert.equal(left(3_600_000), "1h 0m");
  assert.equal(left(604_799_000), "6d 23h");
});

test("[ours.cli.untrusted-text] characters that look like others are written as code points, with a warning", () => {
  const confusable = { ...PENDING, arguments: exact('{"to":"p\u0430ypal.com"}') };
  const card = renderCard(confusable, NOW);
  assert.match(card, /p\\u\{0430\}ypal\.com/);
  assert.match(card, /^warning {4}characters that look like others/m);
  assert.doesNotMatch(renderCard(PENDING, NOW), /^warning/m);
  assert.match(renderTable([confusable], NOW, 300), /p\\u\{0430\}ypal/);
});
