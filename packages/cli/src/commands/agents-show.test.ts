import assert from "node:assert/strict";
import { test } from "node:test";
import { renderAgent } from "./agents-show.ts";

const AT = "2026-01-01T00:00:00.000Z";

const AGENT = {
  id: "7",
  name: "bot\u202e",
  groups: ["ops", "dba"],
  owner: null,
  created_at: AT,
  pending: 2,
  last_request_at: AT,
  receiver: null,
};

test("[ours.cli.instances] a shown agent has its last request, and hostile characters are visible", () => {
  assert.equal(
    renderAgent(AGENT),
    `agent      bot\\u{202E}  7
groups     ops, dba
owner      -
created    ${AT}
requests   2 pending, last ${AT}
receiver   -`,
  );
});

test("[ours.cli.instances] a shown agent has the state of a receiver that fails", () => {
  const next = "2026-01-01T00:05:00.000Z";
  const receiver = {
    origin: "https://hooks.example.com",
    verified_at: AT,
    waiting: 3,
    attempts: 6,
    next_attempt_at: next,
    last_attempt: { at: AT, outcome: "rejected", http_status: 500 },
  };
  const shown = renderAgent({ ...AGENT, receiver });
  assert.ok(
    shown.endsWith(`receiver   https://hooks.example.com, verified ${AT}
deliveries 3 waiting
attempts   6, next ${next}
last       ${AT}, the receiver answered 500`),
    shown,
  );
});
