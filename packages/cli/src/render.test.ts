import assert from "node:assert/strict";
import { test } from "node:test";
import { renderCard, renderTable, timeLeft } from "./render.ts";
import type { ReviewedRequest } from "./review-client.ts";

const NOW = Date.UTC(2026, 0, 1);
const ID = "01a1fb6b-6ba3-7554-8ce5-a39d503b8141";

const PENDING: ReviewedRequest = {
  id: ID,
  server: undefined,
  tool: "deploy",
  instance: { id: "01a1fb6b-6ba3-7554-8ce5-000000000000", name: "quiet-heron-7k2m" },
  argumentsText: '{"env":"prod","count":9007199254740993}',
  argumentsSha256: "e3b0c442",
  reasoning: undefined,
  contextText: undefined,
  status: "pending",
  createdAt: "2026-01-01T00:00:00.000Z",
  deadlineAt: "2026-01-01T00:04:51.000Z",
  decision: undefined,
  asked: undefined,
  source: "",
};

const HOSTILE = "\u001b[2J\u202e\u009b1mnice\r";
const SHOWN = "\\u{001B}[2J\\u{202E}\\u{009B}1mnice\\u{000D}";

test("[ours.cli.requests.decide] a card shows everything that a decision needs", () => {
  const card = renderCard(
    { ...PENDING, reasoning: "It is\ntime.", contextText: '{"repo":1}' },
    NOW,
  );
  assert.equal(
    card,
    `request    ${ID}
status     pending, 4m 51s left
tool       deploy
instance   quiet-heron-7k2m  01a1fb6b-6ba3-7554-8ce5-000000000000
created    2026-01-01T00:00:00.000Z
arguments  sha256 e3b0c442
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

test("[ours.cli.requests.decide] the card of a decided request says who decided, when and until when", () => {
  const decision = {
    note: "go",
    decidedAt: "2026-01-01T00:01:00.000Z",
    expiresAt: "2026-01-01T00:06:00.000Z",
    by: "reviewer:7",
  };
  const card = renderCard({ ...PENDING, status: "approved", decision }, NOW);
  const status =
    "approved by reviewer:7 at 2026-01-01T00:01:00.000Z, usable until 2026-01-01T00:06:00.000Z";
  assert.match(card, new RegExp(`^status     ${status}$`, "m"));
  assert.match(card, /^note {7}go$/m);
});

test("[ours.cli.untrusted-text] nothing that an agent or reviewer wrote reaches a card unescaped", () => {
  const json = JSON.stringify({ [HOSTILE]: HOSTILE });
  const card = renderCard(
    {
      ...PENDING,
      tool: HOSTILE,
      instance: { id: "7", name: HOSTILE },
      reasoning: `${HOSTILE}\n${HOSTILE}`,
      argumentsText: json,
      contextText: json,
      status: "denied",
      decision: { note: HOSTILE, decidedAt: "", expiresAt: undefined, by: "reviewer:7" },
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
  const argumentsText = JSON.stringify({ text: `${HOSTILE}\u2028` });
  const hostile = { ...PENDING, tool: `${HOSTILE}\n`, instance: { id: "7", name: HOSTILE } };
  const table = renderTable([{ ...hostile, argumentsText }, PENDING], NOW, 200);
  assert.equal(table.split("\n").length, 3);
  assert.doesNotMatch(table.replaceAll("\n", ""), /[\p{Cc}\p{Cf}\p{Zl}]/u);
});

test("[ours.cli.requests.decide] a table has its columns under each other and fits the terminal", () => {
  const long = { ...PENDING, tool: "x".repeat(50), argumentsText: `{"a":"${"y".repeat(200)}"}` };
  const [head = "", ...rows] = renderTable([PENDING, long], NOW, 140).split("\n");
  const columns = ["REQUEST", "LEFT", "TOOL", "INSTANCE", "ARGUMENTS"].map((c) => head.indexOf(c));
  for (const row of rows) {
    assert.ok(row.length <= 140, row);
    for (const column of columns) assert.match(row.slice(column), /^[^ ]/);
  }
});

test("[ours.cli.requests.decide] a table says whose tool it is, where one of them says so", () => {
  const named = { ...PENDING, server: HOSTILE };
  const [head = "", ...rows] = renderTable([PENDING, named], NOW, 200).split("\n");
  const at = head.indexOf("SERVER");
  assert.deepEqual(
    rows.map((row) => row.slice(at).trimStart().slice(0, 8)),
    ["quiet-he", SHOWN.slice(0, 8)],
  );
  assert.doesNotMatch(renderTable([PENDING], NOW, 200), /SERVER/);
});

test("[ours.cli.requests.decide] what is left is told in its two largest units and is never negative", () => {
  const left = (ms: number) => timeLeft(new Date(NOW + ms).toISOString(), NOW);
  assert.equal(left(-5_000), "0s");
  assert.equal(left(59_999), "59s");
  assert.equal(left(291_000), "4m 51s");
  assert.equal(left(3_600_000), "1h 0m");
  assert.equal(left(604_799_000), "6d 23h");
});

test("[ours.cli.untrusted-text] characters that look like others are written as code points, with a warning", () => {
  const argumentsText = '{"to":"p\u0430ypal.com"}';
  const card = renderCard({ ...PENDING, argumentsText }, NOW);
  assert.match(card, /p\\u\{0430\}ypal\.com/);
  assert.match(card, /^warning {4}characters that look like others/m);
  assert.doesNotMatch(renderCard(PENDING, NOW), /^warning/m);
  assert.match(renderTable([{ ...PENDING, argumentsText }], NOW, 300), /p\\u\{0430\}ypal/);
});
