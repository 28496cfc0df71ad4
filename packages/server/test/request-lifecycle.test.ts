import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertRefused } from "./support/envelope.ts";
import { cancel, end, startScene, storedStatus, TERMINAL } from "./support/scene.ts";
import { startTestProvider } from "./support/test-provider.ts";

const scene = await startScene({ after });
const { server, clock, instance, reviewer } = scene;

test("[request.approve] a reviewer's approval makes a pending request approved, with decided_at and expires_at", async (t) => {
  const real = await startTestProvider(t);
  const { token } = await real.instance();
  const judge = await real.token({ kind: "reviewer" });
  const request = await real.submit(token);
  assert.equal(request.status, "pending");

  const verdict = await real.decide(judge, request.id, "approve", { note: "go" });

  assert.equal(verdict.status, 200);
  const { status, decision } = await real.read(token, request.id);
  assert.equal(status, "approved");
  assert.equal(decision?.note, "go");
  assert.ok(Date.parse(decision?.expires_at ?? "") > Date.parse(decision?.decided_at ?? ""));
});

test("[request.approve] an approval is dated by the server's clock", async () => {
  const request = await server.submit(instance.token);
  clock.advance(1_234);
  const { decision } = await end(scene, request, "approved");
  assert.equal(Date.parse(decision?.decided_at ?? ""), clock.now());
  assert.equal(Date.parse(request.created_at), clock.now() - 1_234);
});

test("[request.deny] a reviewer's denial makes a pending request denied", async () => {
  const request = await server.submit(instance.token);
  const verdict = await server.decide(reviewer, request.id, "deny", { note: "not on a Friday" });
  assert.equal(verdict.status, 200);
  const { status, decision } = await server.read(instance.token, request.id);
  assert.equal(status, "denied");
  const decided_at = new Date(clock.now()).toISOString();
  assert.deepEqual(decision, { status: "denied", note: "not on a Friday", decided_at });
});

test("[request.expire] a request without a decision within its window becomes expired", async () => {
  const request = await server.submit(instance.token, { timeout: "30s" });
  clock.advance(29_999);
  assert.equal((await server.read(instance.token, request.id)).status, "pending");
  clock.advance(1);
  const { status, decision } = await server.read(instance.token, request.id);
  assert.equal(status, "expired");
  assert.deepEqual(decision, { status: "expired", decided_at: request.deadline_at });
});

test("[request.expire.no-late-approval] the last millisecond before the deadline approves, the deadline does not", async () => {
  const [early, late] = [
    await server.submit(instance.token, { timeout: "10s" }),
    await server.submit(instance.token, { timeout: "10s" }),
  ];
  clock.advance(9_999);
  assert.equal((await server.decide(reviewer, early.id, "approve")).status, 200);
  const shown = await server.call<{ arguments_sha256: string }>(
    "GET",
    `/review/v1/requests/${late.id}`,
    { token: reviewer },
  );
  clock.set(Date.parse(late.deadline_at));
  const { arguments_sha256 } = shown.json;
  const verdict = await server.call("POST", `/review/v1/requests/${late.id}/verdict`, {
    token: reviewer,
    body: { verdict: "approve", arguments_sha256 },
  });
  assertRefused(verdict, 409, "already_terminal");
  assert.equal(await storedStatus(scene, late.id), "expired");
  assert.equal((await server.read(instance.token, late.id)).status, "expired");
  assert.equal((await server.read(instance.token, early.id)).status, "approved");
});

test("[request.immutable] tool, arguments, reasoning and context read the same before and after every decision", async () => {
  const submitted = {
    tool: "transfer",
    arguments: { to: "DE02", amount: 10.5, nested: { list: [null, true] } },
    agent_reasoning: "the invoice is due",
    context: { host: "build-7" },
  };
  for (const status of TERMINAL) {
    const request = await server.submit(instance.token, submitted);
    const ended = await end(scene, request, status);
    for (const read of [request, ended]) {
      const { tool, agent_reasoning, context } = read;
      const fields = { tool, arguments: read.arguments, agent_reasoning, context };
      assert.deepEqual(fields, submitted);
    }
  }
});

test("[request.terminal.unchanged] no later verdict, cancellation or passing of time changes a decision", async () => {
  for (const status of TERMINAL) {
    const request = await server.submit(instance.token);
    const ended = await end(scene, request, status);
    const attempts = [
      await server.decide(reviewer, request.id, "approve", { note: "other" }),
      await server.decide(reviewer, request.id, "deny", { note: "other" }),
    ];
    for (const attempt of attempts) assertRefused(attempt, 409, "already_terminal");
    await cancel(server, instance.token, request.id);
    clock.advance(2 * 3_600_000);
    assert.deepEqual(await server.read(instance.token, request.id), ended);
  }
});

test("[request.terminal.unchanged] deleting the instance changes no decision", async () => {
  const { id, token, provisioner } = await server.instance();
  const own = { ...scene, instance: { id, token, provisioner } };
  const ended = [];
  for (const status of TERMINAL) ended.push(await end(own, await server.submit(token), status));
  const deletion = await server.call("DELETE", `/v1/instances/${id}`, { token: provisioner });
  assert.equal(deletion.status, 204);
  for (const request of ended) {
    const shown = await server.call<Record<string, unknown>>(
      "GET",
      `/review/v1/requests/${request.id}`,
      { token: reviewer },
    );
    assert.deepEqual(shown.json.decision, request.decision);
    assert.equal(shown.json.status, request.status);
  }
});
