import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { ApprovalRequest, ProblemCode } from "@countersign/protocol";
import { assertRefused } from "./support/envelope.ts";
import { countRequests, startScene, submitBody } from "./support/scene.ts";
import { SUBMISSION } from "./support/test-provider.ts";

const scene = await startScene({ after });
const { server, instance } = scene;

const COMPLETE = {
  ...SUBMISSION,
  agent_reasoning: "the release is green",
  context: { cwd: "/srv" },
};

/** Each body is refused with this param, and none of them leaves a request behind. */
async function assertAllRefused(
  bodies: readonly unknown[],
  param: string,
  code: ProblemCode = "invalid_request",
): Promise<void> {
  const before = await countRequests(scene);
  for (const body of bodies) {
    assertRefused(await submitBody(server, instance.token, body), 400, code, param);
  }
  assert.equal(await countRequests(scene), before);
}

test("[request.create] [request.as-submitted] a new submission returns 201 and the recorded request", async () => {
  const call = { token: instance.token, key: server.freshKey(), body: COMPLETE };
  const answer = await server.call<ApprovalRequest>("POST", "/v1/requests", call);
  assert.equal(answer.status, 201);
  const { id, created_at, deadline_at, ...submitted } = answer.json;
  assert.deepEqual(submitted, { ...COMPLETE, status: "pending" });
  assert.equal(Date.parse(created_at), scene.clock.now());
  assert.equal(Date.parse(deadline_at), scene.clock.now() + 3_600_000);
  assert.deepEqual(await server.read(instance.token, id), answer.json);
});

test("[request.create.key-distinct] two keys make two requests, also for the same input", async () => {
  const first = await server.submit(instance.token);
  const second = await server.submit(instance.token);
  assert.notEqual(first.id, second.id);
});

test("[request.shape] a request has the fields of the contract and no others", async () => {
  const required = ["id", "tool", "arguments", "timeout", "status", "created_at", "deadline_at"];
  const bare = await server.submit(instance.token);
  assert.deepEqual(Object.keys(bare).sort(), [...required].sort());
  const complete = await server.submit(instance.token, COMPLETE);
  const all = [...required, "agent_reasoning", "context"];
  assert.deepEqual(Object.keys(complete).sort(), all.sort());
  assert.equal(Object.values(complete).includes(null as never), false);
});

test("[request.decision.absent-while-pending] a pending request has no decision in any response", async () => {
  const request = await server.submit(instance.token);
  assert.equal("decision" in request, false);
  assert.equal("decision" in (await server.read(instance.token, request.id)), false);
  const shown = await server.call("GET", `/review/v1/requests/${request.id}`, {
    token: scene.reviewer,
  });
  assert.equal("decision" in (shown.json as object), false);
});

test("[request.create.required] a submission without tool, arguments or timeout names what is missing", async () => {
  for (const name of ["tool", "arguments", "timeout"]) {
    await assertAllRefused([{ ...COMPLETE, [name]: undefined }], name);
  }
  await assertAllRefused([{}], "tool");
});

test("[request.create.additional-properties] a submission with an unknown property names it", async () => {
  const unknown = ["surprise", "id", "status", "decision", "instance_id", "deadline_at", "Tool"];
  for (const name of unknown) await assertAllRefused([{ ...COMPLETE, [name]: "x" }], name);
  await assertAllRefused([`{"__proto__":{},${JSON.stringify(COMPLETE).slice(1)}`], "__proto__");
});

test("[request.create.no-delivery] a submission with any delivery is rejected", async () => {
  const url = "https://receiver.example/hook";
  const deliveries = [{ type: "webhook", url }, {}, null, "webhook"];
  await assertAllRefused(
    deliveries.map((delivery) => ({ ...COMPLETE, delivery })),
    "delivery",
  );
});

test("[request.create.types] a submission with null for any of its fields names the field", async () => {
  for (const name of Object.keys(COMPLETE)) {
    await assertAllRefused([{ ...COMPLETE, [name]: null }], name);
  }
});

test("[request.create.body-object] a body that is not a JSON object is rejected", async () => {
  const bodies = ["null", "[]", "true", "1", '"{}"', JSON.stringify([COMPLETE])];
  await assertAllRefused(bodies, "body");
});

test("[request.create.body-object] an empty body is rejected, with or without a content type", async () => {
  const before = await countRequests(scene);
  await assertAllRefused([""], "body", "invalid_json");
  const missing = await submitBody(server, instance.token, undefined);
  assert.equal(missing.status, 400);
  assert.equal(await countRequests(scene), before);
});

test("[request.create.key-required] a submission without an Idempotency-Key, or with an empty one, is refused", async () => {
  const before = await countRequests(scene);
  const call = { token: instance.token, body: SUBMISSION };
  const missing = await server.call("POST", "/v1/requests", call);
  assertRefused(missing, 400, "invalid_request", "Idempotency-Key");
  for (const key of ["", " ", "\t "]) {
    const empty = await server.call("POST", "/v1/requests", { ...call, key });
    assertRefused(empty, 400, "invalid_request", "Idempotency-Key");
  }
  assert.equal(await countRequests(scene), before);
});

test("[limit.key.one-character] [ours.limit.key-length] a key has 1 to 1,024 characters", async () => {
  for (const key of ["k", "0", "-", "k".repeat(1_024)]) {
    assert.equal((await submitBody(server, instance.token, SUBMISSION, key)).status, 201, key);
  }
  for (const key of ["k".repeat(1_025), "k".repeat(8_000)]) {
    const answer = await submitBody(server, instance.token, SUBMISSION, key);
    assertRefused(answer, 400, "invalid_request", "Idempotency-Key");
  }
});

test("[ours.limit.key-length] long keys that differ in their last character are different keys", async () => {
  const stem = "s".repeat(1_023);
  const answers = [];
  for (const last of ["a", "b"]) {
    answers.push(await submitBody(server, instance.token, SUBMISSION, stem + last));
  }
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 201],
  );
});
