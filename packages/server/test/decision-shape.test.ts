import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { ApprovalRequest, Decision } from "@countersign/protocol";
import { cancel, end, startScene, TERMINAL } from "./support/scene.ts";
import { SUBMISSION } from "./support/test-provider.ts";

const scene = await startScene({ after });
const { server, clock, instance, reviewer } = scene;

async function approved(fields: object = {}): Promise<ApprovalRequest & { decision: Decision }> {
  const { id } = await server.submit(instance.token);
  assert.equal((await server.decide(reviewer, id, "approve", fields)).status, 200);
  const { decision, ...rest } = await server.read(instance.token, id);
  assert.ok(decision !== undefined);
  return { ...rest, decision };
}

test("[decision.shape] a decision has a status, decided_at, perhaps a note and perhaps an expiry, and nothing else", async () => {
  const { decision } = await approved({ note: "go" });
  assert.deepEqual(Object.keys(decision).sort(), ["decided_at", "expires_at", "note", "status"]);
  for (const status of TERMINAL) {
    const ended = await end(scene, await server.submit(instance.token), status);
    const expiry = status === "approved" ? ["expires_at"] : [];
    const fields = ["decided_at", ...expiry, "status"];
    assert.deepEqual(Object.keys(ended.decision ?? {}).sort(), fields);
  }
});

test("[request.decision.matches-status] the decision's status is that of the request, in every answer that shows both", async () => {
  for (const status of TERMINAL) {
    const key = server.freshKey();
    const call = { token: instance.token, key, body: SUBMISSION };
    const { json } = await server.call<ApprovalRequest>("POST", "/v1/requests", call);
    await end(scene, json, status);
    const answers = [
      await server.call<ApprovalRequest>("POST", "/v1/requests", call),
      await server.call<ApprovalRequest>("GET", `/v1/requests/${json.id}?wait=1s`, {
        token: instance.token,
      }),
      await server.call<ApprovalRequest>("GET", `/review/v1/requests/${json.id}`, {
        token: reviewer,
      }),
    ];
    for (const answer of answers) {
      const { status: shown, decision } = answer.json;
      assert.deepEqual([answer.status, shown, decision?.status], [200, status, status]);
    }
  }
});

test("[decision.expiry.approved] an approval has an expires_at later than its decided_at", async () => {
  for (const valid_for of ["1s", "90s", "24h", undefined]) {
    const { decision } = await approved({ valid_for });
    assert.ok(Date.parse(decision.expires_at ?? "") > Date.parse(decision.decided_at));
  }
});

test("[decision.expiry.absent-otherwise] a denial, an expiry and a cancellation have no expires_at", async () => {
  for (const status of ["denied", "expired", "cancelled"] as const) {
    const { decision } = await end(scene, await server.submit(instance.token), status);
    assert.equal("expires_at" in (decision ?? {}), false);
  }
});

test("[decision.note.inert] a note appears in the decision and leaves the arguments as they were", async () => {
  const notes = [
    "use env=staging instead",
    '{"env":"staging"}',
    "\u0000\u202e\n😀",
    "n".repeat(9_999),
  ];
  for (const verdict of ["approve", "deny"] as const) {
    for (const note of notes) {
      const request = await server.submit(instance.token);
      assert.equal((await server.decide(reviewer, request.id, verdict, { note })).status, 200);
      const { status, decision, ...rest } = await server.read(instance.token, request.id);
      assert.equal(decision?.note, note);
      assert.deepEqual({ ...rest, status: "pending" }, request);
      assert.equal(status, verdict === "approve" ? "approved" : "denied");
    }
  }
});

test("[decision.expiry.not-extended] reading or replaying an approval does not move its expires_at", async () => {
  const call = { token: instance.token, key: server.freshKey(), body: SUBMISSION };
  const { json } = await server.call<ApprovalRequest>("POST", "/v1/requests", call);
  const { decision } = await end(scene, json, "approved");
  for (const pause of [1, 60_000, 600_000, 86_400_000]) {
    clock.advance(pause);
    const replay = await server.call<ApprovalRequest>("POST", "/v1/requests", call);
    assert.equal(replay.status, 200);
    assert.deepEqual(replay.json.decision, decision);
    const read = await server.read(instance.token, json.id, "?wait=1s");
    assert.deepEqual(read.decision, decision);
  }
});

test("[decision.expiry.keeps-status] an approval stays approved after its expires_at has passed", async () => {
  const request = await approved({ valid_for: "1s" });
  for (const pause of [999, 1, 1, 3_600_000, 48 * 3_600_000]) {
    clock.advance(pause);
    assert.deepEqual(await server.read(instance.token, request.id), request);
  }
  assert.equal((await cancel(server, instance.token, request.id)).status, 409);
});
