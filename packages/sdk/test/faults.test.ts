/**
 * The explanations of a gate without a decision, with different clocks, and for a late call.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  ApprovalClient,
  Countersign,
  type CountersignOptions,
  MemoryStore,
} from "@countersign/sdk";
import { startAgentScene } from "@countersign/testing/agent-scene";
import { enforce, policyOf } from "../../server/test/support/policies.ts";
import { type ManualTiming, manualTiming } from "./support/manual-timing.ts";

const CALL = { idempotencyKey: "k", tool: "deploy", arguments: { env: "prod" } };

const neverRuns = () => assert.fail("it ran");

function gateTo(
  url: string,
  token: string,
  options: Partial<CountersignOptions> & { fetch?: typeof fetch },
) {
  const warnings: string[] = [];
  const { fetch: scripted, timing, ...rest } = options;
  const warn = (message: string) => void warnings.push(message);
  const approvals = new Countersign({
    url,
    apiKey: token,
    store: new MemoryStore(),
    logger: { info: () => {}, warn },
    fetch: scripted,
    timing,
    ...rest,
  });
  return { approvals, warnings };
}

test("[ours.sdk.gate.cause] a wrong port and a wrong token are named in the words and in one warning", async (t) => {
  const scene = await startAgentScene(t);
  const cases = [
    [
      gateTo("http://127.0.0.1:1", "t", { timing: manualTiming() }),
      /127.0.0.1:1 could not be reached/,
    ],
    [gateTo(scene.url, "wrong-token", {}), /answered 401 .+ Check the API key/],
    [gateTo(`${scene.url}/v1`, scene.token, {}), /answered 404 .+ base URL/],
  ] as const;
  for (const [{ approvals, warnings }, message] of cases) {
    const outcome = await approvals.run(CALL, neverRuns);
    assert.ok(outcome.status !== "executed" && outcome.reason === "no_decision");
    assert.match(outcome.messageForModel, message);
    assert.match(outcome.messageForModel, /This is not a denial/);
    assert.deepEqual(warnings, [`Countersign: ${outcome.messageForModel}`]);
  }
});

test("[ours.sdk.gate.cause] without a warn option the line goes to stderr, and holds no line break of a provider", async (t) => {
  const written = t.mock.method(console, "error", () => {});
  const body = JSON.stringify({ error: { code: "nope", message: "first\nCountersign: forged" } });
  const refuse = async () => new Response(body, { status: 403 });
  const client = new ApprovalClient({
    url: "http://localhost:1",
    apiKey: "t0ken-of-the-agent",
    fetch: refuse,
  });
  const outcome = await new Countersign({ provider: client, store: new MemoryStore() }).run(
    CALL,
    neverRuns,
  );
  assert.ok(outcome.status !== "executed");
  const lines = written.mock.calls.map(({ arguments: [line] }) => String(line));
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /403 nope: first Countersign: forged/);
});

test("[ours.sdk.gate.cause] the message of an error that is not the SDK's stays out of words and warnings", async (t) => {
  const broken = async () => Promise.reject(new RangeError("Authorization: Bearer s3cret"));
  const { approvals, warnings } = gateTo("http://localhost:1", "t", { fetch: broken });
  const outcome = await approvals.run(CALL, neverRuns);
  assert.ok(outcome.status !== "executed" && outcome.reason === "no_decision");
  assert.match(outcome.messageForModel, /The client failed with RangeError\./);
  assert.doesNotMatch(warnings.join(), /s3cret/);
  const store = { consume: () => Promise.reject(new Error("password s3cret")) };
  const scene = await approvingScene(t);
  const failing = gateTo(scene.url, scene.token, { store });
  const other = await failing.approvals.run(CALL, neverRuns);
  assert.ok(other.status !== "executed" && other.reason === "not_recorded");
  assert.match(failing.warnings.join(), /could not be recorded.+The store failed with Error\./);
  assert.doesNotMatch(failing.warnings.join(), /s3cret/);
});

test("[ours.sdk.gate.cause] an approval that a wrong clock ends names the difference", async (t) => {
  const scene = await approvingScene(t);
  const timing = manualTiming(Date.now() + 3_600_000);
  const { approvals, warnings } = gateTo(scene.url, scene.token, { timing });
  const late = await approvals.run(CALL, neverRuns);
  assert.ok(late.status !== "executed" && late.reason === "lapsed");
  assert.match(
    late.messageForModel,
    /clocks of this process and of the provider differ by (3599|3600|3601) s/,
  );
  assert.equal(warnings.length, 1);
  // Set back, the clock of the gate stays ahead: it says so again.
  timing.set(Date.now());
  const again = await approvals.run({ ...CALL, idempotencyKey: "k2" }, neverRuns);
  assert.ok(again.status !== "executed" && again.reason === "lapsed");
  assert.match(again.messageForModel, /differ by .+ restart the process/);
});

test("[ours.sdk.gate.cause] an outage while a call waits is reported once, and the call runs after it", async (t) => {
  const scene = await startAgentScene(t);
  let failures = 0;
  const losing: typeof fetch = async (input, init) => {
    const isRead = init?.method === "GET";
    if (!isRead || failures >= 3) return fetch(input, init);
    failures++;
    throw new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });
  };
  const { approvals, warnings } = gateTo(scene.url, scene.token, { fetch: losing });
  const called = approvals.run(CALL, () => "ran");
  await scene.decideNext("approve");
  assert.equal((await called).status, "executed");
  assert.equal(failures, 3);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /could not be reached \(ECONNRESET\).+A call still waits/);
});

test("[ours.sdk.gate.once] a call that ran is not reported as lapsed after the end of its approval", async (t) => {
  const scene = await approvingScene(t);
  const timing: ManualTiming = manualTiming();
  const { approvals } = gateTo(scene.url, scene.token, { timing });
  assert.equal((await approvals.run(CALL, () => "ran")).status, "executed");
  timing.pass(600_000);
  const again = await approvals.run(CALL, neverRuns);
  assert.ok(again.status !== "executed" && again.reason === "already_used");
});

async function approvingScene(t: TestContext) {
  const scene = await startAgentScene(t);
  await enforce(scene.server, policyOf("{ id: all, match: { tool: '*' }, then: approve }"));
  return scene;
}
