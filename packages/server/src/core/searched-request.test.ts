import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredRequest } from "./request.ts";
import { parseSearch } from "./search-words.ts";
import { matchTexts, searchedTexts } from "./searched-request.ts";

const REQUEST: StoredRequest = {
  id: "019c0000-0000-7000-8000-00000000cafe",
  instanceId: "i",
  projectId: "p",
  tool: '"stripe.refund"',
  server: '"payments"',
  arguments: '{"order":"A-10077"}',
  timeout: "1h",
  agentReasoning: '"secret thoughts"',
  context: '{"session_id":"s"}',
  policy: null,
  status: "denied",
  createdAt: 1,
  deadlineAt: 2,
  decision: {
    status: "denied",
    note: '"too much"',
    decidedAt: 2,
    expiresAt: null,
    decidedBy: "reviewer:r",
  },
};

const TEXTS = searchedTexts(REQUEST, { names: ["Ana", "Ben"], notes: ['"fine with me"', null] });

test("[ours.search.fields] tool, server, arguments, notes and people are searched", () => {
  assert.deepEqual(TEXTS, [
    { field: "tool", text: "stripe.refund" },
    { field: "tool", text: "payments" },
    { field: "arguments", text: "order: A-10077" },
    { field: "note", text: "too much" },
    { field: "note", text: "fine with me" },
    { field: "person", text: "Ana" },
    { field: "person", text: "Ben" },
  ]);
});

test("[ours.search.fields] terms can be in different fields, and each must be in one", () => {
  const found = matchTexts(parseSearch("refund ben"), TEXTS);
  assert.deepEqual(
    found?.map(({ field }) => field),
    ["tool", "person"],
  );
  assert.equal(matchTexts(parseSearch("refund cleo"), TEXTS), undefined);
});

test("[ours.search.fields] the id of a request is not searched", () => {
  assert.equal(matchTexts(parseSearch("cafe"), TEXTS), undefined);
  assert.equal(matchTexts(parseSearch("00000000cafe"), TEXTS), undefined);
});
