/**
 * The migration to keys that carry the project, and what it leaves: with a row of every shape in
 * every table, on both engines.
 */

import assert from "node:assert/strict";
import { applyMigrations, testOnEmptyStores } from "../../test/support/empty-store.ts";
import type { Row, SqlValue, Store } from "./store.ts";

type Rows = Readonly<Record<string, readonly Row[]>>;

const PROJECTS = ["11", "22"].map((digits) => digits.repeat(4));

/** As a schema before the migration has them; ids of the length that real ones have. */
function rowsOfSchema4(): Rows {
  const perProject = PROJECTS.map((project, i) => rowsOfProject(project, i));
  const tables = Object.keys(perProject[0] ?? {});
  return Object.fromEntries(
    tables.map((table) => [table, perProject.flatMap((rows) => rows[table] ?? [])]),
  );
}

function rowsOfProject(project: string, i: number): Rows {
  const id = (kind: string) => `${project}-${kind}`.padEnd(36, "0");
  const [provisioner, instance, bare] = [id("provisioner"), id("instance"), id("deleted")];
  const names = { name: `name ${i}`, created_at: i };
  const key = { key_hash: "k".repeat(43), fingerprint: `f${i}` };
  return {
    project: [{ id: project, ...names }],
    provisioner: [{ id: provisioner, project_id: project, ...names }],
    reviewer: [{ id: id("reviewer"), project_id: project, ...names, role: "viewer" }],
    instance: [
      instanceRow(instance, project, provisioner, { deleted_at: null, delivery_epoch: 0 }),
      instanceRow(bare, project, provisioner, { deleted_at: 9, delivery_epoch: 3 }),
    ],
    credential: ["provisioner", "instance", "reviewer"].map((kind, n) => ({
      id: id(`credential-${n}`),
      token_hash: `${project}-${n}`,
      kind,
      holder_id: id(kind),
      project_id: project,
      created_at: n,
      expires_at: n === 0 ? 7 : null,
      revoked_at: n === 1 ? 8 : null,
    })),
    idempotency: [
      { scope: `provision:${provisioner}`, sealed_credential: "id.sealed" },
      { scope: `update:${provisioner}:${instance}`, sealed_credential: null },
    ].map((row) => ({
      ...row,
      ...key,
      instance_id: instance,
      result: '"a\\u0000"',
      created_at: 3,
    })),
    verification: [`provision:${provisioner}`, `update:${provisioner}:${bare}`].map((scope, n) => ({
      scope,
      ...key,
      instance_id: bare,
      fence: n,
      lease_until: n,
      updated_at: n,
      ...(n === 0
        ? { failure: null, retry_after_s: null }
        : { failure: "rate_limited", retry_after_s: 5 }),
    })),
    receiver: [
      {
        instance_id: instance,
        url: "https://a.test/",
        registration_id: "r",
        sealed_secret: "id.secret",
        verified_at: 4,
      },
    ],
    request: ["pending", "approved"].map((status) =>
      requestRow(id(status), { instance, project, status }),
    ),
    notification: [notificationRow(id("notification"), id("approved"), instance, project)],
    audit_entry: ["a", "b"].map((name) => ({
      id: id(`entry-${name}`),
      at: 1,
      project_id: project,
      kind: "request.opened",
      actor: `instance:${instance}`,
      subject: "request:x",
      detail: '{"a":null}',
    })),
  };
}

function notificationRow(
  id: string,
  request_id: string,
  instance_id: string,
  project_id: string,
): Row {
  return {
    id,
    request_id,
    instance_id,
    project_id,
    delivery_epoch: 0,
    body: "{}",
    created_at: 5,
    next_at: null,
    not_before: null,
    claimed_until: 6,
    fence: 2,
    attempts: 2,
    last_at: 6,
    last_outcome: "rejected",
    last_status: 500,
    ended_at: 7,
    ended_by: "removal",
  };
}

function instanceRow(id: string, project_id: string, provisioner_id: string, rest: Row): Row {
  return { id, project_id, provisioner_id, name: '"\\ud83d"', created_at: 1, ...rest };
}

function requestRow(
  id: string,
  { instance, project, status }: { instance: string; project: string; status: string },
): Row {
  const isDecided = status !== "pending";
  return {
    id,
    instance_id: instance,
    project_id: project,
    key_hash: id.slice(0, 32),
    status,
    created_at: 1,
    deadline_at: 2 ** 50,
    decided_at: isDecided ? 2 : null,
    expires_at: isDecided ? 3 : null,
    decided_by: isDecided ? "reviewer:x" : null,
    note: isDecided ? '"ok"' : null,
    tool: '"shell"',
    timeout: "PT1H",
    agent_reasoning: null,
    context: '{"a": 1.0}',
    arguments: '{"b":1e400}',
    checksum: 77,
  };
}

/** Tables that had no column for the project. */
const WITHOUT_PROJECT = ["idempotency", "verification", "receiver"];

async function insert(store: Store, rows: Rows): Promise<void> {
  await store.transact(async (tx) => {
    for (const [table, list] of Object.entries(rows)) {
      for (const row of list) {
        const columns = Object.keys(row);
        const params = columns.map((_, i) => `$${i + 1}`).join(", ");
        const sql = `insert into ${table} (${columns.join(", ")}) values (${params})`;
        await tx.run(sql, Object.values(row));
      }
    }
  });
}

/** @param schema makes it another statement than before: a prepared one knows its columns */
async function read(store: Store, tables: readonly string[], schema: number): Promise<Rows> {
  const read: Record<string, Row[]> = {};
  for (const table of tables) {
    read[table] = await store.all(`select * from ${table} where ${schema} > 0`);
  }
  return read;
}

/** Rows as texts, whatever the order of rows and columns. */
function inAnyOrder(rows: readonly Row[]): string[] {
  const ordered = (row: Row) => JSON.stringify(Object.entries(row).sort());
  return rows.map(ordered).sort();
}

/** Each of these belongs to a project that its other columns name. */
function withProject(rows: readonly Row[]): Row[] {
  return rows.map((row) => {
    const project = String(row.instance_id).split("-")[0] as SqlValue;
    return { project_id: project, ...row };
  });
}

testOnEmptyStores(
  "[ours.migrate.keys-by-project] every row of schema 4 is there afterwards, with its project",
  async (store) => {
    const rows = rowsOfSchema4();
    await applyMigrations(store, 1, 4);
    await insert(store, rows);
    const before = await read(store, Object.keys(rows), 4);
    await applyMigrations(store, 5, 5);
    const after = await read(store, Object.keys(rows), 5);
    for (const [table, list] of Object.entries(before)) {
      assert.equal(list.length, rows[table]?.length, table);
      const expected = WITHOUT_PROJECT.includes(table) ? withProject(list) : list;
      assert.deepEqual(inAnyOrder(after[table] ?? []), inAnyOrder(expected), table);
    }
  },
);

testOnEmptyStores(
  "[ours.migrate.keys-by-project] rows refer to rows of their own project, no table is left over",
  async (store, engine) => {
    const rows = rowsOfSchema4();
    await applyMigrations(store, 1, 4);
    await insert(store, rows);
    await applyMigrations(store, 5, 5);
    const [here = "", there = ""] = PROJECTS;
    for (const [sql, values] of [
      ["update request set project_id = $2 where project_id = $1", [here, there]],
      ["update receiver set project_id = $2 where project_id = $1", [here, there]],
      ["update notification set project_id = $2 where project_id = $1", [here, there]],
      ["update instance set provisioner_id = $2 where project_id = $1", [here, there]],
      ["delete from instance where project_id = $1", [here]],
      ["delete from request where project_id = $1", [here]],
      ["delete from provisioner where project_id = $1", [here]],
    ] as const) {
      await assert.rejects(
        store.transact((tx) => tx.run(sql, values)),
        /foreign key|23503/i,
        sql,
      );
    }
    const names =
      engine === "sqlite"
        ? "select name from sqlite_schema where name like 'old%' or sql like '%old!_%' escape '!'"
        : "select relname as name from pg_class where relname like 'old%' and relkind = 'r'";
    assert.deepEqual(await store.all(names), []);
  },
);
