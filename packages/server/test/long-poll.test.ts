import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertRefused } from "./support/envelope.ts";
import { cancel, end, restart, startScene, TERMINAL, untilStored } from "./support/scene.ts";
import { startLongPoll, startLongPollAlone } from "./support/start-long-poll.ts";
import { turns, until } from "./support/until.ts";

const scene = await startScene({ after });
const { server, clock, instance, reviewer } = scene;
const { wake } = server.provider.context;
const { token } = instance;

test("[request.read.wait.held] [request.read.wait.terminal] a poll waits until the request is terminal and returns the decision", async () => {
  for (const status of TERMINAL) {
    const request = await server.submit(token);
    const { answer } = await startLongPoll(server, token, request.id);
    const ended = await end(scene, request, status);
    const { status: code, json } = await answer;
    assert.equal(code, 200);
    assert.deepEqual(json, ended);
  }
});

test("[request.read.wait.terminal] a poll of a terminal request answers at once", async () => {
  for (const status of TERMINAL) {
    const ended = await end(scene, await server.submit(token), status);
    // The clock does not advance: a held poll would never get a response.
    assert.deepEqual(await server.read(token, ended.id, "?wait=30s"), ended);
  }
  assert.equal(wake.waiting, 0);
});

test("[request.read.wait.still-pending] a poll returns the pending request when its wait is over", async () => {
  const request = await server.submit(token);
  for (const [wait, ms] of [
    ["1s", 1_000],
    ["5s", 5_000],
    ["30s", 30_000],
  ] as const) {
    const { answer } = await startLongPoll(server, token, request.id, wait);
    clock.advance(ms - 1);
    await turns();
    assert.equal(wake.waiting, 1, "answered before the wait had passed");
    clock.advance(1);
    const { status, json } = await answer;
    assert.equal(status, 200);
    assert.deepEqual(json, request);
  }
  assert.equal(wake.waiting, 0);
});

test("[request.read.wait.cap] a wait above 30 seconds is held for 30 seconds", async () => {
  const request = await server.submit(token);
  for (const wait of ["31s", "1m", "24h", `${"9".repeat(500)}h`]) {
    const { answer } = await startLongPoll(server, token, request.id, wait);
    clock.advance(29_999);
    await turns();
    assert.equal(wake.waiting, 1, "answered before the cap");
    clock.advance(1);
    assert.equal((await answer).json.status, "pending");
  }
});

test("[request.read.wait.keeps-deadline] polling does not move the deadline", async () => {
  const request = await server.submit(token, { timeout: "60s" });
  for (const _ of [1, 2]) {
    const { answer } = await startLongPoll(server, token, request.id, "29s");
    clock.advance(29_000);
    assert.equal((await answer).json.deadline_at, request.deadline_at);
  }
  const { answer } = await startLongPoll(server, token, request.id, "29s");
  clock.advance(2_000);
  await untilStored(scene, request.id, "expired");
  const { json } = await answer;
  assert.equal(json.status, "expired");
  assert.equal(json.deadline_at, request.deadline_at);
});

test("[request.read.wait.cancelled] cancelling a request answers its held polls", async () => {
  const request = await server.submit(token);
  const polls = [];
  for (const _ of [1, 2, 3]) polls.push(await startLongPoll(server, token, request.id));
  const cancelled = await cancel(server, token, request.id);
  for (const { answer } of polls) assert.deepEqual((await answer).json, cancelled.json);
  assert.equal(wake.waiting, 0);
});

test("[ours.poll.woken] decision, cancellation and expiry wake every poll of the request at once, and no other", async () => {
  const bystander = await server.submit(token, { timeout: "100h" });
  const { answer: untouched } = await startLongPoll(server, token, bystander.id);
  for (const status of ["approved", "denied", "cancelled"] as const) {
    const request = await server.submit(token);
    const polls = [];
    for (const _ of [1, 2, 3, 4, 5]) polls.push(await startLongPoll(server, token, request.id));
    const ended = await end(scene, request, status);
    for (const { answer } of polls) assert.deepEqual((await answer).json, ended);
    assert.equal(wake.waiting, 1);
  }
  await cancel(server, token, bystander.id);
  assert.equal((await untouched).json.status, "cancelled");
});

test("[ours.poll.woken] the expiry of a request wakes its polls at its deadline", async () => {
  const request = await server.submit(token, { timeout: "10s" });
  const { answer } = await startLongPoll(server, token, request.id);
  clock.advance(9_999);
  await turns();
  assert.equal(wake.waiting, 1);
  clock.advance(1);
  // The worker may have armed its timer while the clock was moved.
  await until(() => {
    clock.advance(0);
    return wake.waiting === 0;
  }, "the poll is woken");
  const { json } = await answer;
  assert.equal(json.status, "expired");
  assert.equal(json.decision?.decided_at, request.deadline_at);
});

test("[ours.poll.woken] a rejected verdict wakes no poll", async () => {
  const request = await server.submit(token);
  const { answer } = await startLongPoll(server, token, request.id);
  const wrong = { arguments_sha256: "0".repeat(64) };
  assert.equal((await server.decide(reviewer, request.id, "approve", wrong)).status, 409);
  await turns();
  assert.equal(wake.waiting, 1);
  await cancel(server, token, request.id);
  await answer;
});

test("[ours.poll.instance-deleted] a long poll returns at once when its instance is deleted", async () => {
  const own = await server.instance();
  const request = await server.submit(own.token);
  const polls = [
    await startLongPoll(server, own.token, request.id),
    await startLongPoll(server, own.token, request.id),
  ];
  const path = `/v1/instances/${own.id}`;
  const deletion = await server.call("DELETE", path, { token: own.provisioner });
  assert.equal(deletion.status, 204);
  for (const { answer } of polls) {
    assertRefused(await answer, 401, "invalid_credential");
  }
  assert.equal(wake.waiting, 0);
});

test("[ours.poll.gone-client] a poll is dropped at once when its client disconnects", async () => {
  const request = await server.submit(token);
  const stays = await startLongPoll(server, token, request.id);
  const leaves = [];
  for (const _ of [1, 2, 3]) leaves.push(await startLongPollAlone(server, token, request.id));
  assert.equal(wake.waiting, 4);
  for (const leave of leaves) leave();
  await until(() => wake.waiting === 1, "the server forgets who is gone");
  await cancel(server, token, request.id);
  assert.equal((await stays.answer).json.status, "cancelled");
});

test("[ours.poll.gone-client] polls that follow each other on one connection leave nothing on it", async (t) => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on("warning", note);
  // A server of its own, because Node warns only once of too many listeners on a connection.
  const own = await startScene(t);
  const request = await own.server.submit(own.instance.token);
  for (let i = 0; i < 20; i++) {
    const { answer } = await startLongPoll(own.server, own.instance.token, request.id, "1s");
    own.clock.advance(1_000);
    await answer;
  }
  await turns();
  process.off("warning", note);
  assert.deepEqual(warnings, []);
});

test("[ours.poll.shutdown] a shutdown answers long polls with the current state", async (t) => {
  const stopping = await startScene(t);
  const requests = [
    await stopping.server.submit(stopping.instance.token),
    await stopping.server.submit(stopping.instance.token),
  ];
  const polls = [];
  for (const { id } of [...requests, ...requests]) {
    polls.push(await startLongPoll(stopping.server, stopping.instance.token, id));
  }
  const stopped = stopping.server.stop();
  for (const [i, { answer }] of polls.entries()) {
    const { status, json } = await answer;
    assert.equal(status, 200);
    assert.deepEqual(json, requests[i % 2]);
  }
  await stopped;

  const { server: restarted } = await restart(t, stopping);
  for (const request of requests) {
    assert.deepEqual(await restarted.read(stopping.instance.token, request.id), request);
  }
});
