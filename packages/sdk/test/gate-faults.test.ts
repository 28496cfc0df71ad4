/**
 * The explanations of a gate without a decision, with different clocks, and for a late call.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Client, Gate, type GateOptions, MemoryStore } from "@countersign/sdk";
import { startAgentScene } from "@countersign/testing/agent-scene";
import { enforce, policyOf } from "../../server/test/support/policies.ts";
import { type ManualTiming, manualTiming } from "./support/manual-timing.ts";

const CALL = { key: "k", tool: "deploy", arguments: { env: "prod" } };

const neverRuns = () => assert.fail("it ran");

function gateTo(
  url: string,
  token: string,
  options: Partial<GateOptions> & { fetch?: typeof fetch },
) {
  const warnings: string[] = [];
  const { fetch: scripted, timing, ...rest } = options;
  const client = new Client(url, token, {
    ...(scripted && { fetch: scripted }),
    ...(timing && { timing }),
  });
  const warn = (message: string) => void warnings.push(message);
  const gate = new Gate(client, {
    store: new MemoryStore(),
    warn,
    ...(timing && { timing }),
    ...rest,
  });
  return { gate, warnings };
}

test("[ours.sdk.gate.cause] a wrong port and a wrong token are named in the words and in one warning", async (t) => {
  const scene = await startAgentScene(t);
  const cases = [
    [
      gateTo("http://127.0.0.1:1", "t", { timing: manualTiming() }),
      /127.0.0.1:1 could not be reached/,
    ],
    [gateTo(scene.url, "wrong-token", {}), /answered 401 .+ Check the token/],
    [gateTo(`${scene.url}/v1`, scene.token, {}), /answered 404 .+ base URL/],
  ] as const;
  for (const [{ gate, warnings }, message] of cases) {
    const outcome = await gate.guard(CALL, neverRuns);
    assert.ok(!outcome.ran && outcome.verdict.kind === "no_decision");
    assert.match(outcome.reason, message);
    assert.match(outcome.reason, /This is not a denial/);
    assert.deepEqual(warnings, [`Countersign: ${outcome.reason}`]);
  }
});

test("[ours.sdk.gate.cause] without a warn option the line goes to stderr, and holds no line break of a provider", async (t) => {
  const written = t.mock.method(console, "error", () => {});
  const body = JSON.stringify({ error: { code: "nope", message: "first\nCountersign: forged" } });
  const refuse = async () => new Response(body, { status: 403 });
  const client = new Client("http://localhost:1", "t0ken-of-the-agent", { fetch: refuse });
  const outcome = await new Gate(client, { store: new MemoryStore() }).guard(CALL, neverRuns);
  assert.ok(!outcome.ran);
  const lines = written.mock.calls.map(({ arguments: [line] }) => String(line));
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /403 nope: first Countersign: forged/);
});

test("[ours.sdk.gate.cause] the message of an error that is not the SDK's stays out of words and warnings", async (t) => {
  const broken = async () => Promise.reject(new RangeError("Authorization: Bearer s3cret"));
  const { gate, warnings } = gateTo("http://localhost:1", "t", { fetch: broken });
  const outcome = await gate.guard(CALL, neverRuns);
  assert.ok(!outcome.ran && outcome.verdict.kind === "no_decision");
  assert.match(outcome.reason, /The client failed with RangeError\./);
  assert.doesNotMatch(warnings.join(), /s3cret/);
  const store = { consume: () => Promise.reject(new Error("password s3cret")) };
  const scene = await approvingScene(t);
  const failing = gateTo(scene.url, scene.token, { store });
  const other = await failing.gate.guard(CALL, neverRuns);
  assert.ok(!other.ran && other.verdict.kind === "not_recorded");
  assert.match(failing.warnings.join(), /could not be recorded.+The store failed: Error\./);
  assert.doesNotMatch(failing.warnings.join(), /s3cret/);
});

test("[ours.sdk.gate.cause] an approval that a wrong clock ends names the difference", async (t) => {
  const scene = await approvingScene(t);
  const timing = manualTiming(Date.now() + 3_600_000);
  const { gate, warnings } = gateTo(scene.url, scene.token, { timing });
  const late = await gate.guard(CALL, neverRuns);
  assert.ok(!late.ran && late.verdict.kind === "lapsed");
  assert.match(
    late.reason,
    /clocks of this process and of the provider differ by (3599|3600|3601) s/,
  );
  assert.equal(warnings.length, 1);
  // Set back, the clock of the gate stays ahead: it says so again.
  timing.set(Date.now());
  const again = await gate.guard({ ...CALL, key: "k2" }, neverRuns);
  assert.ok(!again.ran && again.verdict.kind === "lapsed");
  assert.match(again.reason, /differ by .+ restart the process/);
});

test("[ours.sdk.gate.once] a call that ran is not reported as lapsed after the end of its approval", async (t) => {
  const scene = await approvingScene(t);
  const timing: ManualTiming = manualTiming();
  const { gate } = gateTo(scene.url, scene.token, { timing });
  assert.ok((await gate.guard(CALL, () => "ran")).ran);
  timing.pass(600_000);
  const again = await gate.guard(CALL, neverRuns);
  assert.ok(!again.ran && again.verdict.kind === "already_used");
});

async function approvingScene(t: TestContext) {
  const scene = await startAgentScene(t);
  await enforce(scene.server, policyOf("{ id: all, match: { tool: '*' }, then: approve }"));
  return scene;
}
