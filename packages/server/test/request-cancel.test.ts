import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertRefused } from "./support/envelope.ts";
import { auditOf, cancel, end, startScene } from "./support/scene.ts";

const scene = await startScene({ after });
const { server, clock, instance } = scene;

test("[request.cancel.pending] cancelling a pending request returns 200 and the request, now cancelled", async () => {
  const request = await server.submit(instance.token);
  clock.advance(1_500);
  const answer = await cancel(server, instance.token, request.id);
  assert.equal(answer.status, 200);
  const decided_at = new Date(clock.now()).toISOString();
  const expected = {
    ...request,
    status: "cancelled",
    decision: { status: "cancelled", decided_at },
  };
  assert.deepEqual(answer.json, expected);
  assert.deepEqual(await server.read(instance.token, request.id), expected);
});

test("[request.cancel.pending] a key or a body is optional and changes nothing", async () => {
  const request = await server.submit(instance.token);
  const path = `/v1/requests/${request.id}`;
  const call = { token: instance.token, key: server.freshKey(), body: '{"status":"approved"' };
  const answer = await server.call("DELETE", path, call);
  assert.equal(answer.status, 200);
  assert.equal((await server.read(instance.token, request.id)).status, "cancelled");
});

test("[request.cancel.repeat] cancelling it again returns 200 and the same cancelled request", async () => {
  const request = await server.submit(instance.token);
  const first = await cancel(server, instance.token, request.id);
  for (const pause of [0, 1, 3_600_000, 86_400_000]) {
    clock.advance(pause);
    const again = await cancel(server, instance.token, request.id);
    assert.equal(again.status, 200);
    assert.equal(again.text, first.text);
  }
  const kinds = (await auditOf(scene, `request:${request.id}`)).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["request.opened", "request.resolved"]);
});

test("[request.cancel.terminal] cancelling an approved, denied or expired request returns 409 and changes nothing", async () => {
  for (const status of ["approved", "denied", "expired"] as const) {
    const ended = await end(scene, await server.submit(instance.token), status);
    const audit = await auditOf(scene, `request:${ended.id}`);
    clock.advance(1);
    for (const _ of [1, 2]) {
      const answer = await cancel(server, instance.token, ended.id);
      assertRefused(answer, 409, "already_terminal");
    }
    assert.deepEqual(await server.read(instance.token, ended.id), ended);
    assert.deepEqual(await auditOf(scene, `request:${ended.id}`), audit);
  }
});

test("[request.cancel.creator-only] an instance cannot cancel the request of another, pending or decided", async () => {
  const others = [
    await server.instance(),
    await server.instance("elsewhere"),
    { token: (await server.provision(instance.provisioner)).credential.token },
  ];
  const pending = await server.submit(instance.token);
  const cancelled = await end(scene, await server.submit(instance.token), "cancelled");
  const approved = await end(scene, await server.submit(instance.token), "approved");
  for (const { token } of others) {
    for (const request of [pending, cancelled, approved]) {
      assertRefused(await cancel(server, token, request.id), 404, "not_found");
      assert.deepEqual(await server.read(instance.token, request.id), request);
    }
  }
});

test("[request.cancel.creator-only] neither the provisioner nor a reviewer can cancel", async () => {
  const request = await server.submit(instance.token);
  for (const token of [instance.provisioner, scene.reviewer]) {
    assertRefused(await cancel(server, token, request.id), 403, "wrong_credential_kind");
  }
  assert.deepEqual(await server.read(instance.token, request.id), request);
});
