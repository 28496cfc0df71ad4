/** An attacker with write access to the database and without the secret key. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { crc32 } from "node:zlib";
import { uuidV7 } from "@countersign/protocol";
import { exchange } from "@countersign/testing/agents";
import { systemRandom } from "../src/clock.ts";
import { adoptSecretKey } from "../src/operations/operate/adoptSecretKey.ts";
import { FINGERPRINT_KEY } from "../src/storage/sql/operate/encrypted-columns.ts";
import {
  assertVerified,
  countUnsealed,
  projectId,
  storeOf,
  tamper,
  untilSealed,
  verifyAll,
} from "./support/audit-logs.ts";
import { end, type Scene, startScene } from "./support/scene.ts";

const random = systemRandom();

async function failuresOf({ server }: Scene, table: string): Promise<number> {
  const { text } = await exchange("GET", `${server.url}/metrics`);
  const sample = `countersign_integrity_failures_total{table="${table}"} `;
  const line = text.split("\n").find((each) => each.startsWith(sample)) ?? "";
  return Number(line.slice(sample.length));
}

async function statusOf({ server, instance }: Scene, id: string): Promise<number> {
  const { token } = instance;
  return (await server.call("GET", `/v1/requests/${id}`, { token })).status;
}

/** As the checksum of rows from before there were MACs: anybody can compute it. */
function checksumOf(row: Readonly<Record<string, unknown>>): number {
  const names = [
    "id",
    "instance_id",
    "project_id",
    "status",
    "timeout",
    "created_at",
    "deadline_at",
    "tool",
    "agent_reasoning",
    "context",
    "decided_at",
    "expires_at",
    "decided_by",
    "note",
  ];
  const small = names.map((name) => row[name]);
  if (row.policy !== null) small.push(row.policy);
  if (row.server !== null) small.push(row.server);
  return crc32(String(row.arguments), crc32(small.join("\n")));
}

/** Makes a pending request approved, as if a reviewer had. */
async function forge(scene: Scene, id: string, mac: string | null): Promise<void> {
  const [at, expires] = [scene.clock.now(), scene.clock.now() + 60_000];
  const decided = { status: "approved", decided_at: at, expires_at: expires };
  const row = await storeOf(scene).get("select * from request where id = $1", [id]);
  const checksum = checksumOf({ ...row, ...decided, decided_by: "reviewer:made-up" });
  await tamper(
    scene,
    `update request set status = 'approved', decided_at = $2, expires_at = $3,
       decided_by = 'reviewer:made-up', checksum = $4, mac = $5 where id = $1`,
    id,
    at,
    expires,
    checksum,
    mac,
  );
}

test("[ours.rows.authenticated] the server does not return a request that was approved only in the database", async (t) => {
  const scene = await startScene(t);
  const { server, instance, reviewer, clock } = scene;
  assert.equal(await failuresOf(scene, "request"), 0);
  clock.advance(1);
  const other = await end(scene, await server.submit(instance.token), "approved");
  const { mac } =
    (await storeOf(scene).get("select mac from request where id = $1", [other.id])) ?? {};
  assert.match(String(mac), /^[A-Za-z0-9_-]{22}$/);
  for (const forged of [null, "", "A".repeat(22), String(mac)]) {
    const { id } = await server.submit(instance.token);
    await forge(scene, id, forged);
    assert.equal(await statusOf(scene, id), 503);
    const path = `/review/v1/requests/${id}`;
    assert.equal((await server.call("GET", path, { token: reviewer })).status, 503);
  }
  assert.equal(await failuresOf(scene, "request"), 4);
});

/** Every column but the project, which the rows of others refer to, and the derived two. */
const CHANGES: Readonly<Record<string, string | number>> = {
  key_hash: "another",
  status: "denied",
  created_at: 1,
  deadline_at: 9_999_999_999_999,
  decided_at: 1,
  expires_at: 9_999_999_999_999,
  decided_by: "reviewer:made-up",
  note: '"another"',
  tool: '"another"',
  timeout: "1m",
  agent_reasoning: '"another"',
  context: "{}",
  arguments: "{}",
  policy: "{}",
  server: '"another"',
};

test("[ours.rows.authenticated] every column of a request is covered: none can be changed, and nothing is null for empty", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const pending = await server.submit(instance.token);
  const decided = await end(scene, await server.submit(instance.token), "approved");
  const columns = await storeOf(scene).get("select * from request where id = $1", [decided.id]);
  const names = Object.keys(columns ?? {}).sort();
  const others = ["checksum", "id", "instance_id", "mac", "project_id"];
  // An index for a worker, which computes the due steps from `policy`, and a name of a trace.
  const unprotected = ["escalates_at", "traceparent"];
  assert.deepEqual(names, [...Object.keys(CHANGES), ...others, ...unprotected].sort());
  for (const { id } of [pending, decided]) {
    assert.equal(await statusOf(scene, id), 200);
    const row = (await storeOf(scene).get("select * from request where id = $1", [id])) ?? {};
    for (const [name, value] of Object.entries(CHANGES)) {
      for (const changed of row[name] === null ? [value, ""] : [value]) {
        if (changed === "" && /_at$/.test(name)) continue;
        await tamper(scene, `update request set ${name} = $2 where id = $1`, id, changed);
        assert.notEqual(await statusOf(scene, id), 200, `${name} = ${changed}`);
        await tamper(scene, `update request set ${name} = $2 where id = $1`, id, row[name] ?? null);
      }
    }
    assert.equal(await statusOf(scene, id), 200);
  }
});

test("[ours.rows.authenticated] an audit entry that no server wrote is reported and never sealed, and later entries are sealed", async (t) => {
  const scene = await startScene(t);
  const { server, instance, clock } = scene;
  await untilSealed(scene);
  const project = await projectId(storeOf(scene));
  const copied = await storeOf(scene).get("select mac from audit_entry limit 1");
  for (const mac of [null, "A".repeat(22), copied?.mac ?? null]) {
    await tamper(
      scene,
      `insert into audit_entry (id, at, project_id, kind, actor, subject, detail, mac)
       values ($1, $2, $3, 'request.resolved', 'reviewer:1', 'request:1', '{}', $4)`,
      uuidV7(clock.now(), random.bytes(10)),
      clock.now(),
      project,
      mac,
    );
  }
  clock.advance(10);
  await server.submit(instance.token);
  await untilSealed(scene, 3);
  clock.advance(10 * 60_000);
  await untilSealed(scene, 3);
  assert.equal(await countUnsealed(storeOf(scene)), 3);
  assert.equal(await failuresOf(scene, "audit_entry"), 3);
  clock.stop(3_600_000);
  assert.equal((await verifyAll(scene)).finding?.fault, "unsealed");
});

/** As schema 15 wrote them: without MACs, and the key of the database is not made yet. */
async function downgrade(scene: Scene): Promise<void> {
  const { keyring } = scene.server.provider.context;
  const fingerprintKey = keyring.encrypt(
    Buffer.alloc(32).toString("base64"),
    FINGERPRINT_KEY.context,
  );
  const keys = "update secret_key set encrypted_row_key = null, encrypted_fingerprint_key = $1";
  await tamper(scene, keys, fingerprintKey);
  await removeMacs(scene);
}

async function removeMacs(scene: Scene): Promise<void> {
  await tamper(scene, "update audit_entry set mac = null");
  const rows = await storeOf(scene).all("select * from request");
  for (const row of rows) {
    const sql = "update request set mac = null, checksum = $2 where id = $1";
    await tamper(scene, sql, row.id ?? null, checksumOf(row));
  }
}

async function upgraded(t: TestContext): Promise<Scene & { readonly ids: readonly string[] }> {
  const scene = await startScene(t);
  const { server, instance } = scene;
  // The workers write nothing from here on until the clock goes on.
  await untilSealed(scene);
  const pending = await server.submit(instance.token);
  const decided = await end(scene, await server.submit(instance.token), "approved");
  await downgrade(scene);
  await adoptSecretKey(server.provider.context, false);
  return { ...scene, ids: [pending.id, decided.id] };
}

test("[ours.rows.before] rows from before there were MACs are read, decided and sealed, and a decision gives the row its MAC", async (t) => {
  const scene = await upgraded(t);
  const { server, reviewer, ids } = scene;
  const [pending = "", decided = ""] = ids;
  for (const id of ids) assert.equal(await statusOf(scene, id), 200);
  await untilSealed(scene);
  await assertVerified(scene);
  assert.equal((await server.decide(reviewer, pending, "approve")).status, 200);
  const macOf = async (id: string) =>
    (await storeOf(scene).get("select mac from request where id = $1", [id]))?.mac;
  assert.match(String(await macOf(pending)), /^[A-Za-z0-9_-]{22}$/);
  assert.equal(await macOf(decided), null);
  assert.equal(await failuresOf(scene, "request"), 0);
});

test("[ours.rows.before] a row without a MAC is valid only from before the upgrade, and an audit entry only within a day", async (t) => {
  const scene = await upgraded(t);
  const { server, instance, clock, ids } = scene;
  const [pending = ""] = ids;
  clock.advance(1);
  await forge(scene, pending, null);
  assert.equal(await statusOf(scene, pending), 503);
  const later = await server.submit(instance.token);
  await forge(scene, later.id, null);
  assert.equal(await statusOf(scene, later.id), 503);
  await untilSealed(scene);
  clock.advance(25 * 3_600_000);
  await untilSealed(scene);
  const project = await projectId(storeOf(scene));
  await tamper(
    scene,
    `insert into audit_entry (id, at, project_id, kind, actor, subject, detail)
     values ($1, 1, $2, 'request.resolved', 'reviewer:1', 'request:1', '{}')`,
    uuidV7(clock.now() - 100 * 3_600_000, random.bytes(10)),
    project,
  );
  clock.advance(25 * 3_600_000);
  await untilSealed(scene, 1);
  assert.equal(await failuresOf(scene, "audit_entry"), 1);
});

test("[ours.rows.authenticated] a row key that was removed from the database is not created again", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const { context } = server.provider;
  const { id } = await server.submit(instance.token);
  await untilSealed(scene);
  await forge(scene, id, null);
  await removeMacs(scene);
  for (const removed of [
    "encrypted_row_key = null",
    "encrypted_row_key = null, encrypted_fingerprint_key = null",
  ]) {
    await tamper(scene, `update secret_key set ${removed}`);
    await assert.rejects(adoptSecretKey(context, false), /the row key was deleted/);
  }
  await tamper(scene, "delete from secret_key");
  await adoptSecretKey(context, false);
  assert.equal(await statusOf(scene, id), 503);
});
