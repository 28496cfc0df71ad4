import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { assertRefused } from "./support/envelope.ts";
import { cancel, end, startScene, TERMINAL, UNKNOWN_ID } from "./support/scene.ts";

const scene = await startScene({ after });
const { server, instance } = scene;

test("[request.read] [request.decision.matches-status] reading shows the current state, pending and decided", async () => {
  for (const status of TERMINAL) {
    const request = await server.submit(instance.token);
    assert.deepEqual(await server.read(instance.token, request.id), request);
    const { decision, ...rest } = await end(scene, request, status);
    assert.deepEqual(rest, { ...request, status });
    assert.equal(decision?.status, status);
  }
});

test("[request.read] an identifier is the same in upper case", async () => {
  const request = await server.submit(instance.token);
  assert.deepEqual(await server.read(instance.token, request.id.toUpperCase()), request);
});

test("[request.read.unknown] [request.cancel.unknown] reading or cancelling an unknown request returns 404", async () => {
  const { token } = instance;
  for (const id of [randomUUID(), UNKNOWN_ID]) {
    for (const query of ["", "?wait=1s"]) {
      const answer = await server.call("GET", `/v1/requests/${id}${query}`, { token });
      assertRefused(answer, 404, "not_found");
    }
    assertRefused(await cancel(server, token, id), 404, "not_found");
  }
});

test("[request.read.unknown] the id of an instance names no request", async () => {
  const answer = await server.call("GET", `/v1/requests/${instance.id}`, { token: instance.token });
  assertRefused(answer, 404, "not_found");
});

test("[request.read.wait.omitted] without wait a pending request is answered at once", async () => {
  const request = await server.submit(instance.token);
  // The clock does not advance: a delayed response would never arrive.
  assert.equal((await server.read(instance.token, request.id)).status, "pending");
  assert.equal(server.provider.context.wake.waiting, 0);
});

test("[request.read.wait.invalid] [scalar.duration.refused] a wait that is not a duration is rejected with its name", async () => {
  const { id } = await server.submit(instance.token);
  const wrong = ["", "0s", "0", "5", "05s", "-1s", "+1s", "1.5s", "1S", "1d", "1ms", "s", "true"];
  const encoded = ["%201s", "1s%20", "1%20s", "1s%00", "%D9%A1s", "1s,1s"];
  for (const wait of [...wrong, ...encoded]) {
    const path = `/v1/requests/${id}?wait=${wait}`;
    const answer = await server.call("GET", path, { token: instance.token });
    assertRefused(answer, 400, "invalid_request", "wait");
  }
  const twice = await server.call("GET", `/v1/requests/${id}?wait=1s&wait=2s`, {
    token: instance.token,
  });
  assertRefused(twice, 400, "invalid_request", "wait");
});

test("[request.read.wait.invalid] an invalid wait is rejected also for a decided request", async () => {
  const { id } = await end(scene, await server.submit(instance.token), "denied");
  const answer = await server.call("GET", `/v1/requests/${id}?wait=soon`, {
    token: instance.token,
  });
  assertRefused(answer, 400, "invalid_request", "wait");
});
