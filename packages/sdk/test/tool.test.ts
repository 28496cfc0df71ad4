/**
 * Tools of `new Countersign()`, and what a program sees while a call waits.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ApprovalClient,
  type ApprovalProvider,
  Countersign,
  type CountersignOptions,
  DevelopmentProvider,
  type JsonObject,
  MemoryStore,
  Provisioner,
} from "@countersign/sdk";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";

interface Refund {
  readonly order: string;
  readonly cents: number;
}

function approvalsOf({ url, token }: AgentScene, options: CountersignOptions = {}) {
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const logger = { info: write, warn: write };
  const store = new MemoryStore();
  return { approvals: new Countersign({ url, apiKey: token, store, logger, ...options }), lines };
}

const ARGUMENTS = { order: "A-1", cents: 500 };

const neverCalled = async () => assert.fail("it was called");

const pay = ({ order, cents }: Refund) => `${cents} back for ${order}`;

test("[ours.sdk.tool] a tool runs after its approval, and its result has the value, the note and the id", async (t) => {
  const scene = await startAgentScene(t);
  const refund = approvalsOf(scene).approvals.tool("refunds.create", pay);
  const called = refund(ARGUMENTS, { idempotencyKey: "call-1", reasoning: "It broke." });
  const id = await scene.decideNext("approve", { note: "Fine." });
  const result = await called;
  assert.ok(result.status === "executed");
  const { value, requestId, note } = result;
  assert.deepEqual([value, requestId, note], ["500 back for A-1", id, "Fine."]);
  const submitted = await scene.server.read(scene.token, id);
  assert.deepEqual([submitted.tool, submitted.arguments], ["refunds.create", ARGUMENTS]);
  assert.equal(submitted.agent_reasoning, "It broke.");
});

test("[ours.sdk.tool] the same idempotency key does not run a tool twice, and a call without one is a new attempt", async (t) => {
  const scene = await startAgentScene(t);
  let runs = 0;
  const refund = approvalsOf(scene).approvals.tool("refunds.create", () => ++runs);
  for (const options of [{ idempotencyKey: "k" }, {}, {}]) {
    const called = refund(ARGUMENTS, options);
    await scene.decideNext("approve");
    assert.equal((await called).status, "executed");
  }
  const again = await refund(ARGUMENTS, { idempotencyKey: "k" });
  assert.ok(again.status === "unavailable");
  assert.equal(again.reason, "already_used");
  assert.equal(runs, 3);
});

test("[ours.sdk.tool] a suspended call of a tool is resumed by the tool, by its name, or by a function", async (t) => {
  const scene = await startAgentScene(t);
  const { approvals } = approvalsOf(scene, { wait: false });
  const refund = approvals.tool("refunds.create", pay);
  const suspended = [];
  for (const idempotencyKey of ["1", "2", "3"]) {
    const result = await refund(ARGUMENTS, { idempotencyKey });
    assert.ok(result.status === "pending");
    assert.equal(result.requestId, result.pending.requestId);
    await scene.server.decide(scene.reviewer, result.requestId, "approve");
    suspended.push(JSON.parse(JSON.stringify(result.pending)) as typeof result.pending);
  }
  const [first, second, third] = suspended;
  assert.ok(first && second && third);
  const results = [
    await refund.resume(first),
    await approvals.resume(second),
    await approvals.resume(third, ({ cents }) => `${cents} back for A-1`),
  ];
  for (const result of results) {
    assert.ok(result.status === "executed");
    assert.equal(result.value, "500 back for A-1");
  }
  const other = approvalsOf(scene).approvals;
  await assert.rejects(other.resume(first), { code: "invalid_call", message: /No tool "refunds/ });
});

test("[ours.sdk.tool] a tool does not run on the approval of another tool", async (t) => {
  const scene = await startAgentScene(t);
  const { approvals } = approvalsOf(scene, { wait: false });
  const read = approvals.tool("notes.read", () => "read");
  const remove = approvals.tool("notes.delete", () => assert.fail("it ran"));
  const result = await read({ id: 7 });
  assert.ok(result.status === "pending");
  await scene.server.decide(scene.reviewer, result.requestId, "approve");
  const stored = JSON.parse(JSON.stringify(result.pending));
  const message = /This Pending is a call of "notes\.read", not of notes\.delete/;
  await assert.rejects(remove.resume(stored), { code: "invalid_call", message });
  assert.equal((await read.resume(stored)).status, "executed");
});

test("[ours.sdk.tool] a resumed tool receives plain values whatever the stored data says, and a JsonObject only with `exact`", async (t) => {
  const scene = await startAgentScene(t);
  const { approvals } = approvalsOf(scene, { wait: false });
  const suspend = async () => {
    const call = { tool: "files.delete", arguments: { prefix: "/tmp/a" } };
    const result = await approvals.run(call, () => assert.fail("it ran"));
    assert.ok(result.status === "pending");
    await scene.server.decide(scene.reviewer, result.requestId, "approve");
    return { ...result.pending, isExact: true };
  };
  const plain = await approvals.resume(await suspend(), ({ prefix }) => prefix);
  assert.equal(Object(plain).value, "/tmp/a");
  const source = (args: object) => (args as JsonObject).source;
  const exact = await approvals.resume(await suspend(), source, { exact: true });
  assert.equal(Object(exact).value, '{"prefix":"/tmp/a"}');
});

test("[ours.sdk.tool] a call overrides `wait` of the constructor", async (t) => {
  const scene = await startAgentScene(t);
  const refund = approvalsOf(scene).approvals.tool("refunds.create", pay);
  assert.equal((await refund(ARGUMENTS, { wait: false })).status, "pending");
});

test("[ours.sdk.tool] cancel reports the final status, and an unreachable provider as an error", async (t) => {
  const scene = await startAgentScene(t);
  const { approvals } = approvalsOf(scene, { wait: false });
  const refund = approvals.tool("refunds.create", pay);
  const [open, decided] = [await refund(ARGUMENTS), await refund(ARGUMENTS)];
  assert.ok(open.status === "pending" && decided.status === "pending");
  await scene.server.decide(scene.reviewer, decided.requestId, "deny");
  assert.equal(await approvals.cancel(open.pending), "cancelled");
  assert.equal(await approvals.cancel(open.pending), "cancelled");
  assert.equal(await approvals.cancel(decided.pending), "denied");
  const nowhere = approvalsOf({ ...scene, url: "http://127.0.0.1:1" }).approvals;
  const moved = { ...open.pending, url: "http://127.0.0.1:1" };
  await assert.rejects(nowhere.cancel(moved), { code: "unavailable" });
});

test("[ours.sdk.visible] a waiting call writes one line and calls onPending once, then onDecision", async (t) => {
  const scene = await startAgentScene(t);
  const events: unknown[] = [];
  const { approvals, lines } = approvalsOf(scene, {
    onPending: ({ tool, requestId }) => events.push(["pending", tool, requestId]),
    onDecision: ({ status, note, requestId }) => events.push([status, note, requestId]),
  });
  const called = approvals.tool("refunds.create", pay)(ARGUMENTS);
  const id = await scene.decideNext("deny", { note: "No." });
  await called;
  assert.deepEqual(events, [
    ["pending", "refunds.create", id],
    ["denied", "No.", id],
  ]);
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /^Countersign: "refunds\.create" waits for approval until 2.+Z: /);
  assert.ok(lines[0]?.includes(id));
});

test("[ours.sdk.visible] a callback that throws is reported and does not change the result", async (t) => {
  const scene = await startAgentScene(t);
  const broken = () => {
    throw new RangeError("s3cret");
  };
  const rejecting = async () => broken();
  const { approvals, lines } = approvalsOf(scene, { onPending: rejecting, onDecision: broken });
  const called = approvals.tool("refunds.create", pay)(ARGUMENTS);
  await scene.decideNext("approve");
  assert.equal((await called).status, "executed");
  const failure = (name: string) => `Countersign: The callback ${name} failed with RangeError.`;
  assert.deepEqual(lines.slice(1), [failure("onPending"), failure("onDecision")]);
});

test("[ours.sdk.options] an invalid, unknown or missing option is rejected with its name", (t) => {
  const good = { url: "http://localhost:1", apiKey: "t" };
  const cases: [object, RegExp][] = [
    [{ timeOut: "10m" }, /Unknown option of new Countersign\(\): "timeOut"\. Known: .*timeout/],
    [{ timeout: "10" }, /Invalid timeout: "10"\. Expected a whole number with s, m or h/],
    [{ timeout: Number.NaN }, /Invalid timeout: NaN/],
    [{ safetyMargin: "-1s" }, /Invalid safetyMargin: "-1s"/],
    [{ cancelTimeout: 5 }, /Invalid cancelTimeout: 5/],
    [{ store: {} }, /Invalid store/],
    [{ wait: "no" }, /Invalid wait/],
    [{ url: "localhost:8787" }, /Invalid provider URL/],
    [{ apiKey: "a b" }, /invalid API key/],
    [{ apiKey: undefined }, /apiKey is undefined\. Set its variable, or remove apiKey/],
    [{ logger: {} }, /Invalid logger/],
    [{ onPending: true }, /Invalid onPending\. Expected a function/],
  ];
  for (const [options, message] of cases) {
    const given = { ...good, ...options } as CountersignOptions;
    assert.throws(() => new Countersign(given), { code: "invalid_option", message });
  }
  const { COUNTERSIGN_URL: url, COUNTERSIGN_API_KEY: key } = process.env;
  t.after(() => {
    if (url !== undefined) process.env.COUNTERSIGN_URL = url;
    if (key !== undefined) process.env.COUNTERSIGN_API_KEY = key;
  });
  delete process.env.COUNTERSIGN_URL;
  delete process.env.COUNTERSIGN_API_KEY;
  assert.throws(() => new Countersign(), /Missing provider URL\. Set COUNTERSIGN_URL or pass url/);
  const withUrl = { url: "http://localhost:1" };
  assert.throws(() => new Countersign(withUrl), /Missing API key\. .*countersign agents create/);
});

test("[ours.sdk.visible] a call that is submitted again is announced once", async (t) => {
  const scene = await startAgentScene(t);
  const { approvals, lines } = approvalsOf(scene, { wait: false });
  const refund = approvals.tool("refunds.create", pay);
  for (let i = 0; i < 3; i++) await refund(ARGUMENTS, { idempotencyKey: "k" });
  assert.equal(lines.length, 1);
});

test("[ours.sdk.options] a signal or a wait of the wrong type is rejected before the call is submitted", async () => {
  const approvals = new Countersign({ url: "http://localhost:1", apiKey: "t", logger: false });
  const refund = approvals.tool("refunds.create", pay);
  const signal = new AbortController() as never;
  await assert.rejects(refund(ARGUMENTS, { signal }), { message: /Expected an AbortSignal/ });
  await assert.rejects(refund(ARGUMENTS, { wait: "no" as never }), { message: /Invalid wait/ });
});

test("[ours.sdk.options] an unknown option of a call and a tool that is defined twice are rejected", async () => {
  const approvals = new Countersign({ url: "http://localhost:1", apiKey: "t", logger: false });
  const refund = approvals.tool("refunds.create", pay);
  const misspelled = { idempotencykey: "k" } as object;
  await assert.rejects(refund(ARGUMENTS, misspelled), {
    code: "invalid_call",
    message: /Unknown option of a call of refunds\.create: "idempotencykey"/,
  });
  assert.throws(() => approvals.tool("refunds.create", pay), /is defined twice/);
});

const PROVIDER: ApprovalProvider = {
  url: "http://localhost:1",
  isDevelopment: false,
  create: neverCalled,
  read: neverCalled,
  cancel: neverCalled,
};

test("[ours.sdk.options] constructors reject what is not an object with options", () => {
  const message = /expects an object with options/;
  for (const wrong of ["http://localhost:1", null, 5] as never[]) {
    assert.throws(() => new Countersign(wrong), { message });
    assert.throws(() => new Provisioner(wrong), { message });
    assert.throws(() => new DevelopmentProvider(wrong), { message });
  }
  assert.throws(() => new Countersign({ provider: null as never }), /Invalid provider/);
});

test("[ours.sdk.options] an object that is not an ApprovalProvider is rejected", () => {
  assert.ok(new Countersign({ provider: PROVIDER }));
  for (const name of ["url", "create", "read", "cancel"]) {
    const provider = { ...PROVIDER, [name]: undefined };
    const expected = { code: "invalid_option", message: /Invalid provider/ };
    assert.throws(() => new Countersign({ provider }), expected, name);
  }
});

test("[ours.sdk.gate.abandon] a provider that throws while it cancels does not end the process", async (t) => {
  const scene = await startAgentScene(t);
  const client = new ApprovalClient({ url: scene.url, apiKey: scene.token });
  const provider: ApprovalProvider = {
    url: client.url,
    isDevelopment: false,
    create: (input, options) => client.create(input, options),
    read: (request, options) => client.read(request, options),
    cancel: () => {
      throw new RangeError("broken");
    },
  };
  const approvals = new Countersign({ provider, logger: false });
  const aborting = new AbortController();
  const { signal } = aborting;
  const called = approvals.tool("refunds.create", pay)(ARGUMENTS, { signal });
  await scene.nextPending();
  aborting.abort();
  assert.equal(Object(await called).reason, "abandoned");
  await approvals.settled();
});
