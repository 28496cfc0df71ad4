import assert from "node:assert/strict";
import { after, test } from "node:test";
import { uuidV7 } from "@countersign/protocol";
import { systemRandom } from "../src/clock.ts";
import { writeEntry } from "../src/core/audit-line.ts";
import { Frontier, hashLeaf } from "../src/core/merkle.ts";
import { privateKeyOf, publicKeyOf, signCheckpoint } from "../src/core/signed-note.ts";
import { readEntriesAfter } from "../src/storage/sql/audit/audit-entries.ts";
import { writeHashes } from "../src/storage/sql/audit/audit-logs.ts";
import { readSeals } from "../src/storage/sql/audit/audit-seals.ts";
import type { SqlValue } from "../src/storage/store.ts";
import {
  assertVerified,
  authenticateEntries,
  checkpointOf,
  logOf,
  projectId,
  sealedIds,
  storeOf,
  tamper,
  untilSealed,
  verifyAll,
} from "./support/audit-logs.ts";
import { startScene } from "./support/scene.ts";

const scene = await startScene({ after });
const { server, clock, instance, reviewer } = scene;
const store = storeOf(scene);

// Enough for a tile, in several seals.
for (let i = 0; i < 130; i++) {
  const { id } = await server.submit(instance.token);
  await server.decide(reviewer, id, i % 2 === 0 ? "approve" : "deny");
  if (i % 40 === 0) await untilSealed(scene);
}
await server.instance("another");
await untilSealed(scene);
const { projectId: project } = await logOf(scene);
const ids = await sealedIds(store, project);
const [POSITION, OTHER] = [50, 51];
const [id = "", other = ""] = [ids[POSITION], ids[OTHER]];

/** Runs with something changed, and puts it back. */
async function withChanged(
  [table, column, condition]: readonly [string, string, string],
  change: (value: SqlValue) => SqlValue,
  check: () => Promise<void>,
): Promise<void> {
  const row = await store.get(`select ${column} as value from ${table} where ${condition}`);
  const before = row?.value ?? null;
  const after = change(before);
  assert.notEqual(after, before, `${table}.${column} is not changed`);
  const update = `update ${table} set ${column} = $1 where ${condition}`;
  await tamper(scene, update, after);
  try {
    await check();
  } finally {
    const back = column === "id" ? condition.replace(String(before), String(after)) : condition;
    await tamper(scene, `update ${table} set ${column} = $1 where ${back}`, before);
  }
}

/** One character becomes another. */
function oneChar(value: SqlValue): SqlValue {
  if (typeof value === "number") return value + 1;
  const text = String(value);
  const at = Math.floor(text.length / 2);
  const char = text[at] === "a" ? "b" : "a";
  return text.slice(0, at) + char + text.slice(at + 1);
}

const ROW = `project_id = '${project}' and id = '${id}'`;

for (const column of ["at", "kind", "actor", "subject", "detail"]) {
  test(`[ours.audit.verify] one character of an entry's ${column} is found, by the entry`, async () => {
    await assertVerified(scene);
    await withChanged(["audit_entry", column, ROW], oneChar, async () => {
      const { finding } = await verifyAll(scene);
      const { fault, position, id: found, project: name } = finding ?? {};
      assert.deepEqual([fault, position, found, name], ["altered", POSITION, id, "default"]);
      assert.ok(finding?.kind !== undefined && finding.at !== undefined);
    });
    await assertVerified(scene);
  });
}

test("[ours.audit.verify] a made-up seal that overlaps another one is reported, whichever it overlaps", async (t) => {
  const scene = await startScene(t);
  const store = storeOf(scene);
  const project = await projectId(store);
  for (let n = 0; n < 6; n++) {
    for (let i = 0; i < 2; i++) await scene.server.submit(scene.instance.token);
    await untilSealed(scene);
  }
  await assertVerified(scene);
  const seals = await store.all(
    "select position, entries from audit_seal where project_id = $1 and entries > 1",
    [project],
  );
  assert.ok(seals.length >= 6);
  for (const { position } of seals) {
    const within = Number(position) + 1;
    await tamper(
      scene,
      `insert into audit_seal (project_id, position, entries, first_id, last_id, ids, hashes,
         checkpoint, sealed_at)
       select project_id, $2, entries, first_id, last_id, ids, hashes, checkpoint, sealed_at
       from audit_seal where project_id = $1 and position = $3`,
      project,
      within,
      position ?? 0,
    );
    const { finding } = await verifyAll(scene);
    assert.deepEqual([finding?.fault, finding?.position], ["seal", within]);
    assert.match(finding?.message ?? "", /overlaps the one before it/);
    const sql = "delete from audit_seal where project_id = $1 and position = $2";
    await tamper(scene, sql, project, within);
  }
  await assertVerified(scene);
});

test("[ours.audit.verify] a time beyond the number range, and a detail that is not JSON, are reported as alterations", async () => {
  for (const [column, value] of [
    ["at", "1152921504606846977"],
    ["detail", "{} }\n{"],
  ] as const) {
    const put = () => value;
    await withChanged(["audit_entry", column, ROW], put, async () => {
      assert.equal((await verifyAll(scene)).finding?.position, POSITION);
    });
  }
});

test("[ours.audit.verify] an entry under another id, or in another project, is missing where it was", async () => {
  for (const [column, value] of [
    ["id", `${id.slice(0, -1)}${id.endsWith("0") ? "1" : "0"}`],
    ["project_id", (await logOf(scene, "another")).projectId],
  ] as const) {
    const before = column === "id" ? id : project;
    await tamper(scene, `update audit_entry set ${column} = $1 where ${ROW}`, value);
    const { fault, position, id: found, at } = (await verifyAll(scene)).finding ?? {};
    const moved = column === "id" ? `id = '${value}'` : `id = '${id}'`;
    await tamper(scene, `update audit_entry set ${column} = $1 where ${moved}`, before);
    assert.deepEqual([fault, position, found], ["missing", POSITION, id]);
    assert.ok(at !== undefined, "the id says when it was");
  }
  await assertVerified(scene);
});

test("[ours.audit.verify] an entry without an id, which nothing seals, is not passed over", async () => {
  await tamper(
    scene,
    `insert into audit_entry (id, at, project_id, kind, actor, subject, detail)
     values ('', $1, $2, 'request.resolved', 'reviewer:1', 'request:1', '{}')`,
    clock.now(),
    project,
  );
  const { fault, id: found } = (await verifyAll(scene)).finding ?? {};
  await tamper(scene, "delete from audit_entry where id = ''");
  assert.deepEqual([fault, found], ["unsealed", ""]);
  await assertVerified(scene);
});

test("[ours.audit.verify] of two entries that took each other's place the first is named", async () => {
  const swap = async () => {
    const rows = await store.all(
      "select id, kind, actor, subject, detail from audit_entry where id in ($1, $2)",
      [id, other],
    );
    for (const row of rows) {
      const { kind = null, actor = null, subject = null, detail = null } = row;
      await tamper(
        scene,
        "update audit_entry set kind = $2, actor = $3, subject = $4, detail = $5 where id = $1",
        row.id === id ? other : id,
        kind,
        actor,
        subject,
        detail,
      );
    }
  };
  await swap();
  const { fault, position } = (await verifyAll(scene)).finding ?? {};
  await swap();
  assert.deepEqual([fault, position], ["altered", POSITION]);

  const swapIds = async () => {
    const seal = `project_id = '${project}' and ids like '%${id}%'`;
    const row = await store.get(`select ids from audit_seal where ${seal}`);
    const [a, b] = [id, other];
    const swapped = String(row?.ids).replace(a, "x").replace(b, a).replace("x", b);
    await tamper(scene, `update audit_seal set ids = $1 where ${seal}`, swapped);
  };
  await swapIds();
  const order = (await verifyAll(scene)).finding;
  await swapIds();
  assert.deepEqual([order?.fault, order?.position], ["reordered", POSITION]);
  await assertVerified(scene);
});

test("[ours.audit.verify] audit verify reports a removed entry, and an inserted entry that is old", async () => {
  const row = await store.get(`select * from audit_entry where ${ROW}`);
  await tamper(scene, `delete from audit_entry where ${ROW}`);
  const gone = (await verifyAll(scene)).finding;
  const { at = 0, kind = "", actor = "", subject = "", detail = "" } = row ?? {};
  const put = (newId: string, newAt: SqlValue) =>
    tamper(
      scene,
      `insert into audit_entry (project_id, id, at, kind, actor, subject, detail, mac)
       values ($1, $2, $3, $4, $5, $6, $7, $8)`,
      project,
      newId,
      newAt,
      kind,
      actor,
      subject,
      detail,
      row?.mac ?? null,
    );
  await put(id, at);
  assert.deepEqual([gone?.fault, gone?.position, gone?.id], ["missing", POSITION, id]);
  await assertVerified(scene);

  const bytes = systemRandom().bytes(10);
  const young = uuidV7(clock.now(), bytes);
  await put(young, clock.now());
  assert.equal((await verifyAll(scene)).logs.find((log) => log.project === "default")?.unsealed, 1);
  const old = uuidV7(clock.now() - 3_600_000, bytes);
  await put(old, clock.now() - 3_600_000);
  const { finding } = await verifyAll(scene);
  assert.deepEqual([finding?.fault, finding?.id], ["unsealed", old]);
  for (const each of [young, old])
    await tamper(scene, "delete from audit_entry where id = $1", each);
  await assertVerified(scene);
});

const SEAL = `project_id = '${project}' and ids like '%${id}%'`;
const LOG = `project_id = '${project}'`;

for (const [table, column, condition] of [
  ...["position", "entries", "first_id", "last_id", "ids", "hashes", "checkpoint"].map(
    (column) => ["audit_seal", column, SEAL] as const,
  ),
  ...["origin", "public_key", "size", "frontier", "checkpoint"].map(
    (column) => ["audit_log", column, LOG] as const,
  ),
  ["audit_tile", "hashes", LOG],
] as const) {
  test(`[ours.audit.verify] one character of ${table}.${column} is found`, async () => {
    await withChanged([table, column, condition], oneChar, async () => {
      const { finding } = await verifyAll(scene);
      assert.ok(finding, `${table}.${column} was altered`);
      const isOfSeal = table === "audit_seal" && column !== "position" && column !== "last_id";
      if (isOfSeal) assert.ok((finding.position ?? -1) <= POSITION, JSON.stringify(finding));
    });
    await assertVerified(scene);
  });
}

test("[ours.audit.verify] a removed seal is reported as a gap", async () => {
  const row = await store.get(`select * from audit_seal where ${SEAL}`);
  assert.ok(row);
  await tamper(scene, `delete from audit_seal where ${SEAL}`);
  const { finding } = await verifyAll(scene);
  const columns = Object.keys(row);
  const places = columns.map((_, i) => `$${i + 1}`).join(", ");
  const insert = `insert into audit_seal (${columns.join(", ")}) values (${places})`;
  await tamper(scene, insert, ...Object.values(row));
  assert.deepEqual([finding?.fault, finding?.position], ["missing", Number(row.position)]);
});

test("[ours.audit.external] a checkpoint of another log, and a key that is not that of the log, fit nothing", async () => {
  const { origin, publicKey } = await logOf(scene);
  const theirs = await logOf(scene, "another");
  const strange = { ...(await checkpointOf(scene)), origin: "countersign/audit/elsewhere/00" };
  assert.equal((await verifyAll(scene, { older: strange })).finding?.fault, "rewritten");
  const wrong = { name: origin, publicKey: theirs.publicKey };
  assert.equal((await verifyAll(scene, { verifier: wrong })).finding?.fault, "signature");
  await assertVerified(scene, { verifier: { name: origin, publicKey } });
});

test("[ours.audit.external] a truncated log verifies by itself, but not against a checkpoint from before the truncation", async (t) => {
  const own = await startScene(t);
  await own.server.submit(own.instance.token);
  await untilSealed(own);
  const shorter = await logOf(own);
  const later = [1, 2, 3].map(() => own.server.submit(own.instance.token));
  const requests = await Promise.all(later);
  await untilSealed(own);
  const older = await checkpointOf(own);
  const cut = (await sealedIds(storeOf(own), shorter.projectId)).slice(shorter.size);
  for (const each of cut) await tamper(own, "delete from audit_entry where id = $1", each);
  await tamper(own, "delete from audit_seal where position >= $1", shorter.size);
  assert.equal((await verifyAll(own)).finding?.fault, "missing");
  await tamper(
    own,
    "update audit_log set size = $1, checkpoint = $2, frontier = $3, sealed_id = ''",
    shorter.size,
    shorter.checkpoint,
    shorter.subtrees.map((hash) => Buffer.from(hash).toString("base64url")).join(""),
  );
  assert.equal((await verifyAll(own)).finding?.kind, "request");
  for (const { id } of requests) await tamper(own, "delete from request where id = $1", id);
  await assertVerified(own);
  const { finding } = await verifyAll(own, { older });
  assert.equal(finding?.fault, "truncated");
});

test("[ours.audit.external] a log rewritten with the same key verifies alone, but not against an earlier checkpoint", async (t) => {
  const own = await startScene(t);
  await own.server.submit(own.instance.token);
  await untilSealed(own);
  const older = await checkpointOf(own);
  await assertVerified(own, { older });
  await tamper(
    own,
    "update audit_entry set actor = 'operator:nobody' where kind = 'instance.provisioned'",
  );
  await authenticateEntries(own);
  for (const table of ["audit_seal"]) await tamper(own, `delete from ${table}`);
  await tamper(own, "update audit_log set size = 0, frontier = '', sealed_id = ''");
  await untilSealed(own);
  await assertVerified(own);
  assert.equal((await verifyAll(own, { older })).finding?.fault, "rewritten");
});

test("[ours.audit.verify] [ours.audit.external] a removed log is reported as missing, and a new log as another one", async (t) => {
  const own = await startScene(t);
  await untilSealed(own);
  const older = await checkpointOf(own);
  own.clock.stop(3_600_000);
  for (const table of ["audit_seal", "audit_log"]) await tamper(own, `delete from ${table}`);
  const { finding } = await verifyAll(own);
  assert.deepEqual([finding?.fault, finding?.project], ["unsealed", "default"]);
  await untilSealed(own);
  await assertVerified(own);
  assert.equal((await verifyAll(own, { older })).finding?.fault, "rewritten");
});

test("[ours.audit.external] a log rewritten with another key does not match the stored public key or the checkpoint", async () => {
  const log = await logOf(scene);
  const older = await checkpointOf(scene);
  const privateKey = privateKeyOf(new Uint8Array(32));
  const publicKey = publicKeyOf(privateKey);
  await tamper(scene, `update audit_entry set actor = 'reviewer:other' where ${ROW}`);
  await authenticateEntries(scene);
  const rows = await readEntriesAfter(store, project, "", 1_000);
  const texts = new Map(rows.map((row) => [row.id, writeEntry(row)]));
  const frontier = new Frontier();
  let checkpoint = "";
  for (const { position, ids: sealed } of await readSeals(store, project, 0, 1_000)) {
    const hashes = sealed.map((each) => hashLeaf(texts.get(each) ?? ""));
    for (const hash of hashes) frontier.append(hash);
    const head = { size: frontier.size, root: frontier.root() };
    checkpoint = signCheckpoint(head, { name: log.origin, privateKey }, publicKey);
    await tamper(
      scene,
      "update audit_seal set hashes = $3, checkpoint = $4 where project_id = $1 and position = $2",
      project,
      position,
      writeHashes(hashes),
      checkpoint,
    );
  }
  await tamper(
    scene,
    "update audit_log set public_key = $2, frontier = $3, checkpoint = $4 where project_id = $1",
    project,
    Buffer.from(publicKey).toString("base64"),
    writeHashes(frontier.subtrees),
    checkpoint,
  );
  const verifier = { name: log.origin, publicKey: log.publicKey };
  assert.equal((await verifyAll(scene, { verifier })).finding?.fault, "signature");
  assert.equal((await verifyAll(scene, { older })).finding?.fault, "rewritten");
});
