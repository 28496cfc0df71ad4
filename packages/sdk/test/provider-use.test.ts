/**
 * Approvals without a store: the provider records their use.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Countersign, type CountersignOptions, MemoryStore } from "@countersign/sdk";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { at, OTHER_ID, startMisbehavingProvider } from "@countersign/testing/misbehaving-provider";
import { freeze, lift } from "../../server/test/support/freezes.ts";
import { enforce, policyOf } from "../../server/test/support/policies.ts";
import { manualTiming } from "./support/manual-timing.ts";

const CALL = { idempotencyKey: "call-1", tool: "deploy", arguments: { env: "prod" } };

const APPROVE_ALL = policyOf("{ id: all, match: { tool: '*' }, then: approve }");

/** Each one is a process of its own, because it has no store. */
function newProcess(
  { url, token }: Pick<AgentScene, "url" | "token">,
  options: CountersignOptions = {},
): Countersign {
  return new Countersign({ url, apiKey: token, logger: false, ...options });
}

const neverRuns = () => assert.fail("it ran");

test("[ours.sdk.provider-use] without a store, a key starts one call, in any process and at any time", async (t) => {
  const scene = await startAgentScene(t);
  await enforce(scene.server, APPROVE_ALL);
  let runs = 0;
  const results = await Promise.all(
    Array.from({ length: 20 }, () => newProcess(scene).run(CALL, () => ++runs)),
  );
  assert.equal(runs, 1);
  assert.equal(results.filter(({ status }) => status === "executed").length, 1);
  const refused = results.filter(({ status }) => status !== "executed");
  for (const result of refused) assert.equal(Object(result).reason, "already_used");
  const later = await newProcess(scene).run(CALL, neverRuns);
  assert.equal(Object(later).reason, "already_used");
});

test("[ours.sdk.provider-use] a lost answer to the consumption is retried, and the call runs once", async (t) => {
  const scene = await startAgentScene(t);
  await enforce(scene.server, APPROVE_ALL);
  let lost = 0;
  const losing: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (!String(input).endsWith("/consume") || lost++ > 0) return response;
    throw new TypeError("fetch failed");
  };
  let runs = 0;
  const result = await newProcess(scene, { fetch: losing }).run(CALL, () => ++runs);
  assert.equal(result.status, "executed");
  assert.deepEqual([runs, lost], [1, 2]);
});

test("[ours.sdk.provider-use] an approval that the provider does not let the agent use runs nothing", async (t) => {
  const scene = await startAgentScene(t);
  const approvals = newProcess(scene, { wait: false });
  const suspended = await approvals.run(CALL, neverRuns);
  assert.ok(suspended.status === "pending");
  await scene.server.decide(scene.reviewer, suspended.requestId, "approve");
  const admin = await scene.server.token({ kind: "reviewer", name: "ada", role: "admin" });
  const frozen = await freeze(scene.server, admin, { scope: "project", note: "An incident." });
  assert.equal(frozen.status, 201, frozen.text);
  const result = await approvals.resume(suspended.pending, neverRuns);
  assert.ok(result.status === "unavailable");
  assert.equal(result.reason, "frozen");
  await lift(scene.server, admin, frozen.json.id);
  assert.equal((await approvals.resume(suspended.pending, () => "ran")).status, "executed");
});

test("[ours.sdk.provider-use] a provider that cannot record uses is named with the fix, and nothing runs", async (t) => {
  const provider = await startMisbehavingProvider(t, ({ kind, correctAnswer, response }) => {
    if (kind !== "consume") return correctAnswer;
    response.writeHead(404).end();
    return undefined;
  });
  const lines: string[] = [];
  const warn = (line: string) => void lines.push(line);
  const approvals = new Countersign({
    url: provider.url,
    apiKey: "t0ken",
    logger: { info: () => {}, warn },
  });
  const result = await approvals.run({ ...CALL, arguments: { n: 1 } }, neverRuns);
  assert.ok(result.status === "unavailable");
  assert.equal(result.reason, "not_recorded");
  assert.match(result.messageForModel, /cannot record the use of approvals\. Pass a store/);
  assert.deepEqual(lines, [`Countersign: ${result.messageForModel}`]);
});

test("[ours.sdk.provider-use] an answer about the use of another request runs nothing", async (t) => {
  const answers = [`{"id":"${OTHER_ID}"}`, "{}", "[]", "true", "not JSON"];
  for (const wrong of answers) {
    const provider = await startMisbehavingProvider(t, ({ kind, correctAnswer }) => {
      return kind === "consume" ? wrong : correctAnswer;
    });
    const approvals = newProcess({ url: provider.url, token: "t0ken" });
    const result = await approvals.run({ ...CALL, arguments: { n: 1 } }, neverRuns);
    assert.ok(result.status === "unavailable", wrong);
    assert.equal(result.reason, "not_recorded", wrong);
  }
  const provider = await startMisbehavingProvider(t, (exchange) => exchange.correctAnswer);
  const approvals = newProcess({ url: provider.url, token: "t0ken" });
  const result = await approvals.run({ ...CALL, arguments: { n: 1 } }, () => "ran");
  assert.equal(result.status, "executed");
});

test("[ours.sdk.gate.validity] a slow clock does not revive an approval that expired by the provider's clock", async (t) => {
  const now = Date.now();
  const times: Record<string, number> = {
    created_at: now - 180_000,
    decided_at: now - 120_000,
    expires_at: now - 60_000,
  };
  const provider = await startMisbehavingProvider(t, ({ correctAnswer }) => {
    return correctAnswer.replace(/"(created_at|decided_at|expires_at)":"[^"]*"/g, (_, name) => {
      return `"${name}":"${at(times[name] ?? 0)}"`;
    });
  });
  const approvals = new Countersign({
    url: provider.url,
    apiKey: "t0ken",
    logger: false,
    store: new MemoryStore(),
    timing: manualTiming(Date.now() - 3_600_000),
  });
  const result = await approvals.run({ ...CALL, arguments: { n: 1 } }, neverRuns);
  assert.ok(result.status === "expired", JSON.stringify(result));
  assert.equal(result.reason, "lapsed");
});

test("[ours.sdk.gate.once] an approval that outlasts the records of a store is not used", async (t) => {
  const later = `"expires_at":"${at(Date.now() + 30 * 24 * 3_600_000)}"`;
  const provider = await startMisbehavingProvider(t, ({ correctAnswer }) => {
    return correctAnswer.replace(/"expires_at":"[^"]*"/, later);
  });
  const approvals = new Countersign({
    url: provider.url,
    apiKey: "t0ken",
    logger: false,
    store: new MemoryStore(),
  });
  const result = await approvals.run({ ...CALL, arguments: { n: 1 } }, neverRuns);
  assert.ok(result.status === "unavailable");
  assert.match(result.messageForModel, /valid for more than 7 days/);
});

test("[ours.sdk.visible] the review URL opens the request in the console", async (t) => {
  const scene = await startAgentScene(t);
  const urls: (string | undefined)[] = [];
  const approvals = newProcess(scene, { onPending: ({ reviewUrl }) => void urls.push(reviewUrl) });
  const called = approvals.run(CALL, () => "deployed");
  const id = await scene.nextPending();
  await scene.server.decide(scene.reviewer, id, "approve");
  const { reviewUrl } = await called;
  assert.deepEqual(urls, [reviewUrl]);
  assert.ok(reviewUrl?.startsWith(scene.url) && reviewUrl.includes(id), reviewUrl);
  const page = await fetch(reviewUrl ?? "");
  assert.deepEqual(
    [page.status, page.headers.get("content-type")?.split(";")[0]],
    [200, "text/html"],
  );
});

test("[ours.sdk.visible] a call that another process resumes has its review URL", async (t) => {
  const scene = await startAgentScene(t);
  const suspended = await newProcess(scene, { wait: false }).run(CALL, neverRuns);
  assert.ok(suspended.status === "pending");
  const resumed = await newProcess(scene).resume(suspended.pending, neverRuns);
  assert.equal(resumed.status, "pending");
  assert.equal(resumed.reviewUrl, suspended.reviewUrl);
  assert.ok(suspended.reviewUrl?.includes(suspended.requestId));
});

test("[ours.sdk.provider-use] without a store, a repeated call after the expiry asks to check an earlier attempt", async (t) => {
  const scene = await startAgentScene(t);
  await enforce(scene.server, APPROVE_ALL);
  const timing = manualTiming();
  const approvals = newProcess(scene, { timing });
  assert.equal((await approvals.run(CALL, () => "ran")).status, "executed");
  timing.pass(600_000);
  const again = await approvals.run(CALL, neverRuns);
  assert.ok(again.status === "expired");
  assert.match(again.messageForModel, /has expired.+Check whether an earlier attempt took effect/);
});

test("[ours.sdk.provider-use] an approval that expired by the local clock alone is not used", async (t) => {
  const scene = await startAgentScene(t);
  await enforce(scene.server, APPROVE_ALL);
  const wrongClock = newProcess(scene, { timing: manualTiming(Date.now() + 3_600_000) });
  const late = await wrongClock.run(CALL, neverRuns);
  assert.equal(Object(late).reason, "lapsed");
  assert.equal((await newProcess(scene).run(CALL, () => "ran")).status, "executed");
});

test("[ours.sdk.gate.once] a store in memory does not use an approval of an earlier process", async (t) => {
  const scene = await startAgentScene(t);
  await enforce(scene.server, APPROVE_ALL);
  const first = newProcess(scene, { store: new MemoryStore() });
  assert.equal((await first.run(CALL, () => "ran")).status, "executed");
  const store = new MemoryStore({ timing: manualTiming(Date.now() + 1_000) });
  const again = await newProcess(scene, { store }).run(CALL, neverRuns);
  assert.ok(again.status === "unavailable");
  assert.equal(again.reason, "not_recorded");
  assert.match(again.messageForModel, /older than the store in memory.+new idempotencyKey/);
});

test("[ours.sdk.gate.once] a store in memory compares times on the provider's clock", async (t) => {
  for (const leadMs of [10_000, -10_000]) {
    const scene = await startAgentScene(t);
    await enforce(scene.server, APPROVE_ALL);
    // This process's clock is behind that of the provider, or ahead of it.
    const startedAfter = (ms: number) => {
      const now = Date.now() - leadMs;
      const store = new MemoryStore({ timing: manualTiming(now + ms) });
      return newProcess(scene, { timing: manualTiming(now), store });
    };
    const first = await startedAfter(-1_500).run(CALL, () => "ran");
    assert.equal(first.status, "executed", JSON.stringify(first));
    const again = await startedAfter(3_000).run(CALL, neverRuns);
    assert.equal(Object(again).reason, "not_recorded", String(leadMs));
  }
});
