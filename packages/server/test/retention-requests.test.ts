import assert from "node:assert/strict";
import { test } from "node:test";
import type { TerminalStatus } from "@countersign/protocol";
import { purgeExpired } from "../src/operations/operate/purgeExpired.ts";
import { advanceUntil } from "./support/advance.ts";
import { assertRefused } from "./support/envelope.ts";
import {
  auditOf,
  cancel,
  countRequests,
  end,
  type Scene,
  startScene,
  storedStatus,
  submitBody,
  TERMINAL,
  untilStored,
} from "./support/scene.ts";
import { SUBMISSION } from "./support/test-provider.ts";
import { failingOnce } from "./support/transactions.ts";
import { turns } from "./support/until.ts";

const HOUR = 3_600_000;
const WEEK = 168 * HOUR;

/** Longer than the retention worker sleeps. */
const WORKER_PAUSE = 10 * 60_000;

/** Lets the retention worker run, whatever it finds. */
async function sweep({ clock }: Scene): Promise<void> {
  for (let round = 0; round < 4; round++) {
    clock.advance(WORKER_PAUSE / 4);
    await turns();
  }
}

function submitUnder({ server, instance }: Scene, key: string) {
  return submitBody(server, instance.token, SUBMISSION, key);
}

test("[request.retention.terminal] a decided request and its key are kept for 168 hours from the decision", async (t) => {
  const scene = await startScene(t);
  const { server, clock, instance } = scene;
  const kept = new Map<TerminalStatus, { key: string; text: string; decidedAt: number }>();
  for (const status of TERMINAL) {
    const key = server.freshKey();
    const { json } = await submitUnder(scene, key);
    clock.advance(30 * 60_000);
    const { decision } = await end(scene, json, status);
    const { text } = await submitUnder(scene, key);
    kept.set(status, { key, text, decidedAt: Date.parse(decision?.decided_at ?? "") });
  }
  for (const [status, { key, text, decidedAt }] of kept) {
    clock.advance(decidedAt + WEEK - 1 - clock.now());
    await turns();
    const replay = await submitUnder(scene, key);
    assert.deepEqual([replay.status, replay.text], [200, text], status);
    assert.equal((await server.read(instance.token, replay.json.id)).status, status);
  }
});

test("[ours.retention.erased] [request.retention.terminal] after that a worker purges the request with its key, replays or not", async (t) => {
  const scene = await startScene(t);
  const { server, clock, instance } = scene;
  const key = server.freshKey();
  const { json } = await submitUnder(scene, key);
  const { id } = await end(scene, json, "approved");
  for (const _ of [1, 2, 3]) {
    clock.advance(WEEK / 4);
    await turns();
    assert.equal((await submitUnder(scene, key)).status, 200);
    await server.read(instance.token, id);
  }
  clock.advance(WEEK / 4 + WORKER_PAUSE);
  await untilStored(scene, id, undefined);
  const read = await server.call("GET", `/v1/requests/${id}`, { token: instance.token });
  assertRefused(read, 404, "not_found");
  const cancelled = await server.call("DELETE", `/v1/requests/${id}`, { token: instance.token });
  assertRefused(cancelled, 404, "not_found");
  const fresh = await submitUnder(scene, key);
  assert.equal(fresh.status, 201);
  assert.notEqual(fresh.json.id, id);
});

test("[request.retention.pending] a pending request and its key are kept until its end", async (t) => {
  const scene = await startScene(t, { settings: { window_max: "2000h" } });
  const { server, clock, instance } = scene;
  const submission = { ...SUBMISSION, timeout: "2000h" };
  const { json, text } = await submitBody(server, instance.token, submission, "long");
  for (let week = 0; week < 11; week++) {
    clock.advance(WEEK);
    await sweep(scene);
    const replay = await submitBody(server, instance.token, submission, "long");
    assert.deepEqual([replay.status, replay.text], [200, text]);
  }
  await end(scene, json, "denied");
  clock.advance(WEEK - 1);
  await sweep({ ...scene, clock });
  await untilStored(scene, json.id, undefined);
});

test("[request.retention.terminal] the 168 hours begin with the decision and not with the submission", async (t) => {
  const scene = await startScene(t, { settings: { window_max: "2000h" } });
  const { server, clock, instance } = scene;
  const request = await server.submit(instance.token, { timeout: "1000h" });
  clock.advance(900 * HOUR);
  await end(scene, request, "approved");
  clock.advance(WEEK - WORKER_PAUSE - 1);
  await sweep(scene);
  assert.equal(await storedStatus(scene, request.id), "approved");
  await sweep(scene);
  await untilStored(scene, request.id, undefined);
});

test("[ours.retention.erased] more than one batch of purges runs without a pause", async (t) => {
  const scene = await startScene(t);
  const { server, clock, instance } = scene;
  const ids = await Promise.all(
    Array.from({ length: 510 }, async () => (await server.submit(instance.token)).id),
  );
  const deletion = await server.call("DELETE", `/v1/instances/${instance.id}`, {
    token: instance.provisioner,
  });
  assert.equal(deletion.status, 204);
  assert.equal(await countRequests(scene), ids.length);
  clock.advance(WEEK);
  clock.advance(WORKER_PAUSE);
  // In steps that are far shorter than the worker's pause, and in all as well.
  await advanceUntil(clock, 20, 2_999, async () => (await countRequests(scene)) === 0);
  // The record of the actions remains.
  for (const id of [ids[0], ids.at(-1)]) {
    const kinds = (await auditOf(scene, `request:${id}`)).map(({ kind }) => kind);
    assert.deepEqual(kinds, ["request.opened", "request.resolved"]);
  }
});

test("[ours.retention.erased] a project that cannot be purged does not stop the purge of others", async (t) => {
  const scene = await startScene(t);
  const { server } = scene;
  const elsewhere = await server.instance("elsewhere");
  for (const { token } of [scene.instance, elsewhere]) {
    const { id } = await server.submit(token);
    await cancel(server, token, id);
  }
  const { context } = server.provider;
  const settings = { ...context.settings, retentionMs: 0 };
  const store = failingOnce(context.store, "the first project");
  const { failures, unfinished } = await purgeExpired({ ...context, settings, store });
  assert.deepEqual([failures.map(String), unfinished], [["Error: the first project"], []]);
  assert.equal(await countRequests(scene), 1);
  assert.deepEqual((await purgeExpired({ ...context, settings })).failures, []);
  assert.equal(await countRequests(scene), 0);
});

test("[ours.retention.erased] an operator may keep requests longer, and their keys with them", async (t) => {
  const scene = await startScene(t, { settings: { retention: "1000h" } });
  const { clock } = scene;
  const { json } = await submitUnder(scene, "kept");
  await end(scene, json, "denied");
  clock.advance(990 * HOUR);
  await sweep(scene);
  assert.equal((await submitUnder(scene, "kept")).status, 200);
  clock.advance(10 * HOUR);
  await sweep(scene);
  await untilStored(scene, json.id, undefined);
});

test("[request.retention.terminal] [request.retention.no-access] the requests of a deleted instance are kept for reviewers as long", async (t) => {
  const scene = await startScene(t);
  const { server, clock, instance, reviewer } = scene;
  const { id } = await server.submit(instance.token);
  await server.call("DELETE", `/v1/instances/${instance.id}`, { token: instance.provisioner });
  clock.advance(WEEK - WORKER_PAUSE - 1);
  await sweep(scene);
  const path = `/review/v1/requests/${id}`;
  const shown = await server.call<{ status: string }>("GET", path, { token: reviewer });
  assert.deepEqual([shown.status, shown.json.status], [200, "cancelled"]);
  const read = await server.call("GET", `/v1/requests/${id}`, { token: instance.token });
  assertRefused(read, 401, "invalid_credential");
  await sweep(scene);
  await untilStored(scene, id, undefined);
  assertRefused(await server.call("GET", path, { token: reviewer }), 404, "not_found");
});
