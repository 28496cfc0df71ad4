/**
 * Predefined outcomes are clearly marked, so that a user cannot mistake them for approvals.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  Countersign,
  type DevelopmentOptions,
  DevelopmentProvider,
  MemoryStore,
  type SdkError,
} from "@countersign/sdk";

function canned(options: Partial<DevelopmentOptions>, wait = true) {
  const warnings: string[] = [];
  const client = new DevelopmentProvider({
    outcomes: { look: "approved", pay: { status: "denied", note: "too much" } },
    logger: { warn: (message) => warnings.push(message) },
    ...options,
  });
  return {
    approvals: new Countersign({ provider: client, store: new MemoryStore(), wait, logger: false }),
    warnings,
  };
}

test("[ours.sdk.development] the client warns at the start and at each approval that no reviewer was asked", async () => {
  const { approvals, warnings } = canned({});
  const look = await approvals.run(
    { idempotencyKey: "1", tool: "look", arguments: {} },
    () => "seen",
  );
  assert.ok(look.status === "executed" && look.isDevelopment);
  assert.match(look.requestId, /^00000000-/);
  const pay = await approvals.run({ idempotencyKey: "2", tool: "pay", arguments: {} }, () =>
    assert.fail(),
  );
  assert.ok(pay.status !== "executed");
  assert.equal(
    pay.messageForModel,
    "[development: no reviewer was asked] This call was denied: too much",
  );
  assert.equal(warnings.length, 2);
  for (const warning of warnings) assert.match(warning, /^DEVELOPMENT: /);
});

test("[ours.sdk.development] a tool without a predefined outcome is denied, with any name", async () => {
  const { approvals } = canned({});
  for (const tool of ["other", "__proto__", "toString"]) {
    const verdict = await approvals.check({ idempotencyKey: tool, tool, arguments: {} });
    assert.equal(verdict.status, "denied");
  }
  const rest = canned({ outcomes: { "*": "expired" } });
  const verdict = await rest.approvals.check({ idempotencyKey: "k", tool: "other", arguments: {} });
  assert.equal(verdict.status, "expired");
});

test("[ours.sdk.development] calls with predefined outcomes suspend and resume", async () => {
  const { approvals } = canned({ isPendingFirst: true }, false);
  const suspension = await approvals.check({
    idempotencyKey: "k",
    tool: "look",
    arguments: { n: 1 },
  });
  assert.ok(suspension.status === "pending");
  const resumed = await approvals.resume(suspension.pending, (approved) => approved);
  assert.ok(resumed.status === "executed");
  assert.deepEqual(resumed.value, { n: 1 });
});

test("[ours.sdk.development] the provider rejects production, an API key and unknown options", (t) => {
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
  assert.throws(() => canned({ apiKey: "cs_inst_x" }), { message: /an API key is set/ });
  assert.throws(() => canned({ token: "x" } as object), { message: /Unknown option.+"token"/ });
  assert.ok(canned({ apiKey: undefined }).approvals);
});

test("[ours.sdk.development] a key that is used again with other arguments is an idempotency_conflict", async () => {
  const { approvals, warnings } = canned({});
  const call = { idempotencyKey: "k", tool: "look", arguments: { n: 1 } };
  assert.equal((await approvals.check(call)).status, "approved");
  const other = await approvals.check({ ...call, arguments: { n: 2 } });
  assert.ok(other.status === "unavailable");
  const error = other.error as SdkError;
  assert.deepEqual([error.code, error.providerCode], ["refused", "idempotency_conflict"]);
  assert.equal(warnings.length, 2);
});

test("[ours.sdk.development] only an approved request can be used, and only once", async () => {
  const outcomes = { look: "denied", pay: "approved" } as const;
  const provider = new DevelopmentProvider({ outcomes, logger: { warn: () => {} } });
  const create = (tool: string) => {
    return provider.create({ idempotencyKey: tool, tool, arguments: {}, timeout: "1m" });
  };
  const denied = await create("look");
  const using = provider.consume(denied.id, { idempotencyKey: "1" });
  await assert.rejects(using, { status: 409, providerCode: "not_approved" });
  const { id } = await create("pay");
  await provider.consume(id, { idempotencyKey: "1" });
  await provider.consume(id, { idempotencyKey: "1" });
  const again = provider.consume(id, { idempotencyKey: "2" });
  await assert.rejects(again, { status: 409, providerCode: "already_consumed" });
});
