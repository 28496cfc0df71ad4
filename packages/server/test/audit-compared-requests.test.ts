/**
 * Rows of requests that `audit verify` compares with the log: while it verifies entries that were
 * sealed long ago, and afterwards with those of the last minutes, which can be without a seal.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { uuidV7 } from "@countersign/protocol";
import { UNSEALED_MS_MAX } from "../src/audit/verify-log.ts";
import { readEntry, writeEntry } from "../src/core/audit-line.ts";
import { EntryComparison } from "../src/maintenance/compare-entries.ts";
import { REQUESTS_PER_READ, RequestMatches } from "../src/maintenance/match-requests.ts";
import { RequestLog } from "../src/maintenance/request-log.ts";
import { verifyDatabase } from "../src/maintenance/verify-database.ts";
import { Integrity } from "../src/storage/integrity.ts";
import { readEntriesAfter } from "../src/storage/sql/audit/audit-entries.ts";
import { REQUEST_STATES_MAX } from "../src/storage/sql/requests/request-states.ts";
import type { Reader } from "../src/storage/store.ts";
import {
  assertVerified,
  countUnsealed,
  logOf,
  projectId,
  sealResolutionFirst,
  storeOf,
  tamper,
  untilPurgedAndSealed,
  untilSealed,
  verifyAll,
} from "./support/audit-logs.ts";
import { ENGINE } from "./support/engine.ts";
import { copyRequest, overwriteRequest, requestRow } from "./support/overwritten-requests.ts";
import { policyOf } from "./support/policies.ts";
import { publish, startPolicyScene } from "./support/publishing.ts";
import { insertRow } from "./support/rows.ts";
import { countRequests, end, type Scene, startScene } from "./support/scene.ts";
import type { Lifetime } from "./support/test-provider.ts";
import { turns, until } from "./support/until.ts";

const HOUR = 3_600_000;

/** Requests of every kind, whose entries are sealed and old. */
async function startOld(t: Lifetime) {
  const scene = await startPolicyScene(t);
  const { server, instance, editor, clock } = scene;
  const submit = async () => {
    clock.advance(1);
    return server.submit(instance.token);
  };
  const pending = (await submit()).id;
  const denied = await submit();
  const older = await requestRow(scene, denied.id);
  clock.advance(1);
  await end(scene, denied, "denied");
  const approving = policyOf('{ id: all, match: { tool: "*" }, then: approve }');
  assert.equal((await publish(server, editor, approving, 0)).status, 201);
  const atOnce = (await submit()).id;
  await untilSealed(scene);
  clock.advance(2 * UNSEALED_MS_MAX);
  await untilSealed(scene);
  await assertVerified(scene);
  return { scene, pending, denied: denied.id, atOnce, older };
}

test("[ours.audit.requests] an entry with an id that is far ahead does not load all requests", async (t) => {
  const scene = await startScene(t);
  const { server, instance, clock } = scene;
  const store = storeOf(scene);
  const ids: string[] = [];
  for (let n = 0; n < 3 * REQUESTS_PER_READ; n++) {
    ids.push((await server.submit(instance.token)).id);
  }
  let reads = 0;
  const all: Reader["all"] = (sql, values) => {
    reads++;
    return store.all(sql, values);
  };
  const { integrity, search } = store;
  const reader = { integrity, search, all, get: store.get, getMany: store.getMany };
  const matches = new RequestMatches(reader, await projectId(store), "");
  const entry = {
    id: uuidV7(clock.now() + HOUR, new Uint8Array(10)),
    at: clock.now(),
    kind: "request.opened",
    actor: `instance:${instance.id}`,
    subject: "request:other",
    detail: {},
  };
  assert.deepEqual([await matches.take([entry]), reads], [[entry], 1]);
  assert.deepEqual((await matches.end()).ids, ids.toSorted());
});

async function messageOf(scene: Scene): Promise<string> {
  return (await verifyAll(scene)).finding?.message ?? "";
}

test("[ours.audit.requests] audit verify names a changed row of a request with old entries", async (t) => {
  const { scene, pending, denied, atOnce } = await startOld(t);
  const changed = [
    [
      pending,
      { tool: '"another"' },
      "tool_sha256 of its row differs from the entry request.opened",
    ],
    [
      denied,
      { arguments: '{"a":1}' },
      "arguments_sha256 of its row differs from the entry request.",
    ],
    [
      denied,
      { note: '"another"' },
      "note_sha256 of its row differs from the entry request.resolved",
    ],
    [denied, { decided_by: "reviewer:other" }, "decided_by of its row differs from the entry"],
    [
      atOnce,
      { tool: '"another"' },
      "tool_sha256 of its row differs from the entry request.resolved",
    ],
    [atOnce, { expires_at: 9_999_999_999_999 }, "expires_at of its row differs from the entry"],
  ] as const;
  for (const [id, columns, says] of changed) {
    const before = await requestRow(scene, id);
    await overwriteRequest(scene, id, columns);
    const message = await messageOf(scene);
    assert.ok(message.startsWith(`request ${id}: ${says}`), message);
    await overwriteRequest(scene, id, before);
  }
  for (const id of [denied, atOnce]) {
    const before = await requestRow(scene, id);
    await overwriteRequest(scene, id, { decided_at: Number(before.decided_at) + 1 });
    assert.match(await messageOf(scene), /no entry request\.resolved with the time of its row$/);
    await overwriteRequest(scene, id, before);
  }
  const { created_at: createdAt } = await requestRow(scene, pending);
  await overwriteRequest(scene, pending, { created_at: Number(createdAt) + 1 });
  assert.match(await messageOf(scene), /no entry request\.opened with the time of its row$/);
  await overwriteRequest(scene, pending, { created_at: createdAt ?? null });
  await assertVerified(scene);
});

test("[ours.audit.requests] audit verify names a decided request with old entries after its pending row came back", async (t) => {
  const { scene, denied, older } = await startOld(t);
  await overwriteRequest(scene, denied, older);
  const says = `request ${denied}: its row has the status pending, but the log has denied`;
  assert.equal(await messageOf(scene), says);
});

test("[ours.audit.requests] audit verify names a missing row of a request with old entries", async (t) => {
  const { scene, pending, denied, atOnce } = await startOld(t);
  for (const [id, says] of [
    [atOnce, "its row is missing, but it was resolved within the last 168 h"],
    [denied, "its row is missing, but it was resolved within the last 168 h"],
    [pending, "its row is missing, but it is pending in the log"],
  ] as const) {
    const row = await requestRow(scene, id);
    await tamper(scene, "delete from request where id = $1", id);
    assert.equal(await messageOf(scene), `request ${id}: ${says}`);
    await storeOf(scene).transact((tx) => insertRow(tx, "request", row));
    await assertVerified(scene);
  }
});

/** As `countersign audit verify` does without the secret key. */
async function verifyWithoutKey(scene: Scene) {
  const store = storeOf(scene);
  const integrity = new Integrity();
  integrity.skipMacs();
  const reader = {
    integrity,
    search: store.search,
    get: store.get.bind(store),
    getMany: store.getMany.bind(store),
    all: store.all.bind(store),
  };
  const log = () => logOf(scene);
  return verifyDatabase({ reader, clock: scene.clock, log }, {});
}

test("[ours.audit.requests] an altered entry is named although a row of a request cannot be read", async (t) => {
  const { scene, pending } = await startOld(t);
  // In a later seal.
  const { id } = await scene.server.submit(scene.instance.token);
  await untilSealed(scene);
  const unreadable = "9223372036854775807";
  await tamper(scene, `update request set decided_at = ${unreadable} where id = $1`, pending);
  await assert.rejects(verifyAll(scene), /too large/);
  const sql = "update audit_entry set actor = 'operator:other' where subject = $1";
  await tamper(scene, sql, `request:${id}`);
  assert.equal((await verifyAll(scene)).finding?.fault, "altered");
});

test("[ours.audit.requests] of several changed rows, audit verify names the one with the first id", async (t) => {
  const { scene, pending, denied, atOnce } = await startOld(t);
  await overwriteRequest(scene, atOnce, { tool: '"another"' });
  await tamper(scene, "update request set note = '\"another\"' where id = $1", denied);
  const foreign = "no server with the secret key of this database wrote its row";
  assert.equal(await messageOf(scene), `request ${denied}: ${foreign}`);
  await overwriteRequest(scene, pending, { tool: '"another"' });
  assert.match(await messageOf(scene), new RegExp(`^request ${pending}: tool_sha256`));
});

test("[ours.audit.requests] audit verify passes a request with an opening that was sealed after its resolution, also when it is purged", async (t) => {
  const scene = await startScene(t);
  const commitOpening = await sealResolutionFirst(scene);
  await commitOpening();
  await until(async () => {
    scene.clock.advance(HOUR);
    await turns();
    return (await countUnsealed(storeOf(scene))) === 0;
  }, "the opening is sealed");
  assert.equal(await countRequests(scene), 1);
  await assertVerified(scene);
  await untilPurgedAndSealed(scene);
  await assertVerified(scene);
});

test("[ours.audit.requests] audit verify names a row with an id that no server makes", async (t) => {
  const { scene, denied } = await startOld(t);
  const ids =
    ENGINE === "sqlite"
      ? ["x'303132'", "cast(x'30313980' as text)", "cast(x'3030FF' as text)"]
      : ["'012'"];
  for (const id of ids) {
    const remove = await copyRequest(scene, denied, id);
    for (const verify of [verifyAll, verifyWithoutKey]) {
      const { message = "" } = (await verify(scene)).finding ?? {};
      assert.match(message, /no server with the secret key of this database wrote its row$/);
    }
    await remove();
  }
  await assertVerified(scene);
});

test("[ours.audit.requests] audit verify names a missing or pending row of a request with a resolution that is not sealed yet", async (t) => {
  const scene = await startScene(t);
  const { server, instance, clock } = scene;
  await untilSealed(scene);
  const request = await server.submit(instance.token);
  const { id } = request;
  const pending = await requestRow(scene, id);
  clock.advance(1);
  await end(scene, request, "denied");
  const denied = await requestRow(scene, id);
  await overwriteRequest(scene, id, pending);
  const says = `request ${id}: its row has the status pending, but the log has denied`;
  assert.equal(await messageOf(scene), says);
  await tamper(scene, "delete from request where id = $1", id);
  const isMissing = `request ${id}: its row is missing, but it was resolved within the last 168 h`;
  assert.equal(await messageOf(scene), isMissing);
  await storeOf(scene).transact((tx) => insertRow(tx, "request", denied));
  await assertVerified(scene);
});

test("[ours.audit.requests] more entries than are read with one statement are compared with their rows", async (t) => {
  const scene = await startScene(t);
  const { server, instance, clock } = scene;
  const store = storeOf(scene);
  const project = await projectId(store);
  for (let n = 0; n <= REQUEST_STATES_MAX; n++) await server.submit(instance.token);
  const rows = await readEntriesAfter(store, project, "", 2 * REQUEST_STATES_MAX);
  const entries = rows.flatMap((row) => readEntry(writeEntry(row)) ?? []);
  const opened = entries.filter(({ kind }) => kind === "request.opened");
  assert.ok(opened.length > REQUEST_STATES_MAX);
  const comparison = new EntryComparison(store, project, clock);
  const log = new RequestLog(store, project, undefined);
  const some = opened.slice(0, REQUEST_STATES_MAX - 1);
  await comparison.take(some);
  await comparison.take(opened.slice(some.length));
  assert.equal(await comparison.end(log), undefined);
});
