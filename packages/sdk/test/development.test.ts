/**
 * Predefined outcomes are clearly marked, so that a user cannot mistake them for approvals.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  DevelopmentClient,
  type DevelopmentOptions,
  Gate,
  MemoryStore,
  type SdkError,
} from "@countersign/sdk";

function canned(options: Partial<DevelopmentOptions>, mode: "sync" | "async" = "sync") {
  const warnings: string[] = [];
  const client = new DevelopmentClient({
    outcomes: { look: "approved", pay: { status: "denied", note: "too much" } },
    warn: (message) => warnings.push(message),
    ...options,
  });
  const warn = () => {};
  return { gate: new Gate(client, { store: new MemoryStore(), mode, warn }), warnings };
}

test("[ours.sdk.development] the client warns at the start and at each approval that no reviewer was asked", async () => {
  const { gate, warnings } = canned({});
  const look = await gate.guard({ key: "1", tool: "look", arguments: {} }, () => "seen");
  assert.ok(look.ran && look.verdict.isDevelopment);
  assert.match(look.verdict.requestId, /^00000000-/);
  const pay = await gate.guard({ key: "2", tool: "pay", arguments: {} }, () => assert.fail());
  assert.ok(!pay.ran);
  assert.equal(pay.reason, "[development: no reviewer was asked] This call was denied: too much");
  assert.equal(warnings.length, 2);
  for (const warning of warnings) assert.match(warning, /^DEVELOPMENT: /);
});

test("[ours.sdk.development] a tool without a predefined outcome is denied, with any name", async () => {
  const { gate } = canned({});
  for (const tool of ["other", "__proto__", "toString"]) {
    const verdict = await gate.check({ key: tool, tool, arguments: {} });
    assert.equal(verdict.kind, "denied");
  }
  const rest = canned({ outcomes: { "*": "expired" } });
  const verdict = await rest.gate.check({ key: "k", tool: "other", arguments: {} });
  assert.equal(verdict.kind, "expired");
});

test("[ours.sdk.development] calls with predefined outcomes suspend and resume", async () => {
  const { gate } = canned({ isPendingFirst: true }, "async");
  const pending = await gate.check({ key: "k", tool: "look", arguments: { n: 1 } });
  assert.ok(pending.kind === "pending");
  const resumed = await gate.resume(pending, (approved) => approved);
  assert.ok(resumed.ran);
  assert.deepEqual(resumed.value, { n: 1 });
});

test("[ours.sdk.development] the client rejects production and a token", (t) => {
  const before = process.env.NODE_ENV;
  t.after(() => {
    if (before === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = before;
  });
  for (const name of ["production", "Production", " production "]) {
    process.env.NODE_ENV = name;
    assert.throws(() => canned({}), { code: "invalid_option", message: /NODE_ENV is production/ });
  }
  process.env.NODE_ENV = "test";
  assert.throws(() => canned({ token: "cs_inst_x" }), { message: /a token is set/ });
  assert.ok(canned({ token: undefined }).gate);
});

test("[ours.sdk.development] a key that is used again with other arguments is an idempotency_conflict", async () => {
  const { gate, warnings } = canned({});
  const call = { key: "k", tool: "look", arguments: { n: 1 } };
  assert.equal((await gate.check(call)).kind, "approved");
  const other = await gate.check({ ...call, arguments: { n: 2 } });
  assert.ok(other.kind === "no_decision");
  const error = other.error as SdkError;
  assert.deepEqual([error.code, error.providerCode], ["refused", "idempotency_conflict"]);
  assert.equal(warnings.length, 2);
});
