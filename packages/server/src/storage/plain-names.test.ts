/**
 * The migration that renames tables and columns: a row in each of them, on both engines.
 */

import assert from "node:assert/strict";
import { applyMigrations, testOnEmptyStores } from "../../test/support/empty-store.ts";
import type { Row, Store } from "./store.ts";

interface Renamed {
  /** Before and after. */
  readonly table: readonly [string, string];
  readonly row: Row;
  readonly columns?: Readonly<Record<string, string>>;
}

const KEY = { project_id: "p", request_id: "q", reviewer_id: "r" };

const SENDING = { claimed_until: null, fence: 1, failures: 0, retry_at: null, last_at: null };

/** Rows that the others refer to. */
const REFERENCED: readonly (readonly [string, Row])[] = [
  ["project", { id: "p", name: "project", created_at: 1 }],
  ["provisioner", { project_id: "p", id: "v", name: "provisioner", created_at: 1 }],
  ["instance", { project_id: "p", id: "i", provisioner_id: "v", name: '"i"', created_at: 1 }],
  ["person", { id: "n", login: "ann", name: "Ann", created_at: 1 }],
];

const RENAMED: readonly Renamed[] = [
  {
    table: ["standing_freeze", "call_freeze"],
    row: {
      project_id: "p",
      id: "f",
      instance_id: "i",
      note: null,
      frozen_at: 1,
      frozen_by: "operator:cli",
      lifted_at: null,
      lifted_by: null,
    },
  },
  {
    table: ["standing_grant", "call_grant"],
    row: {
      project_id: "p",
      id: "g",
      instance_id: "i",
      reviewer_id: "r",
      terms: "{}",
      created_at: 1,
      expires_at: 2,
      calls_max: 3,
      calls: 1,
      revoked_at: null,
      revoked_by: null,
    },
  },
  { table: ["in_force_stamp", "active_state_stamp"], row: { project_id: "p", stamp: 5 } },
  {
    table: ["held_verdict", "delayed_verdict"],
    row: {
      ...KEY,
      verdict: "approve",
      arguments_sha256: "aa",
      note: null,
      validity_ms: null,
      confirmation: null,
      credential_id: "c",
      is_session: 0,
      held_at: 6,
      commits_at: 7,
    },
    columns: { held_at: "received_at" },
  },
  {
    table: ["confirmation_miss", "failed_confirmation"],
    row: { ...KEY, misses: 2, missed_at: 8 },
    columns: { misses: "attempts", missed_at: "failed_at" },
  },
  {
    table: ["audit_log", "audit_log"],
    row: {
      project_id: "p",
      origin: "o",
      public_key: "k",
      sealed_private_key: "id.audit",
      size: 0,
      frontier: "",
      sealed_id: "s",
      checkpoint: "",
      sealed_at: 1,
      looked_at: 2,
      looked_through: 3,
      walked_at: 4,
      walked_id: "w",
    },
    columns: {
      sealed_private_key: "encrypted_private_key",
      looked_at: "rescan_started_at",
      looked_through: "rescanned_at",
      walked_at: "full_scan_at",
      walked_id: "full_scan_id",
    },
  },
  {
    table: ["idempotency", "idempotency"],
    row: {
      project_id: "p",
      scope: "provision:v",
      key_hash: "h",
      fingerprint: "f",
      instance_id: "i",
      result: '"a"',
      sealed_credential: "id.credential",
      created_at: 1,
    },
    columns: { sealed_credential: "encrypted_credential" },
  },
  {
    table: ["receiver", "receiver"],
    row: {
      project_id: "p",
      instance_id: "i",
      url: "https://a.test/",
      registration_id: "r",
      sealed_secret: "id.secret",
      verified_at: 1,
    },
    columns: { sealed_secret: "encrypted_secret" },
  },
  {
    table: ["channel", "channel"],
    row: {
      ...SENDING,
      project_id: "p",
      id: "c",
      name: "ops",
      kind: "webhook",
      group_names: "[]",
      includes_arguments: 0,
      target_shown: "a.test",
      sealed_target: "id.channel",
      created_at: 1,
      created_by: "operator:cli",
      minute_messages: 0,
    },
    columns: { sealed_target: "encrypted_target" },
  },
  {
    table: ["push_subscription", "push_subscription"],
    row: {
      ...SENDING,
      id: "s",
      person_id: "n",
      endpoint_sha256: "e",
      name: "laptop",
      target_shown: "push.test",
      sealed_target: "id.push",
      created_at: 1,
    },
    columns: { sealed_target: "encrypted_target" },
  },
  {
    table: ["push_key", "push_key"],
    row: { id: "vapid", public_key: "k", sealed_private_key: "id.vapid", created_at: 1 },
    columns: { sealed_private_key: "encrypted_private_key" },
  },
  {
    table: ["secret_key", "secret_key"],
    row: { key_id: "id", sealed_fingerprint_key: "id.fingerprint", sealed_row_key: "id.row" },
    columns: {
      sealed_fingerprint_key: "encrypted_fingerprint_key",
      sealed_row_key: "encrypted_row_key",
    },
  },
];

async function insert(store: Store, table: string, row: Row): Promise<void> {
  const columns = Object.keys(row);
  const values = columns.map((_, i) => `$${i + 1}`).join(", ");
  const sql = `insert into ${table} (${columns.join(", ")}) values (${values})`;
  await store.transact((tx) => tx.run(sql, Object.values(row)));
}

function renamed(row: Row, columns: Readonly<Record<string, string>>): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [columns[name] ?? name, value]),
  );
}

testOnEmptyStores(
  "[ours.migrate.older-database] every row of schema 18 has its values under the new names",
  async (store) => {
    await applyMigrations(store, 1, 18);
    for (const [table, row] of REFERENCED) await insert(store, table, row);
    for (const { table, row } of RENAMED) await insert(store, table[0], row);
    const before: Row[][] = [];
    for (const { table } of RENAMED) before.push(await store.all(`select * from ${table[0]}`));
    await applyMigrations(store, 19, 19);
    for (const [index, { table, columns = {} }] of RENAMED.entries()) {
      const rows = await store.all(`select * from ${table[1]} where 19 > 18`);
      const expected = before[index]?.map((row) => renamed(row, columns));
      assert.deepEqual(rows.map(sorted), expected?.map(sorted), table[1]);
      assert.equal(rows.length, 1, table[1]);
    }
  },
);

testOnEmptyStores(
  "[ours.freeze.once] after the migration a scope still has at most one active freeze",
  async (store) => {
    await applyMigrations(store, 1, 18);
    const [freeze] = RENAMED;
    await insert(store, "standing_freeze", freeze?.row ?? {});
    await applyMigrations(store, 19, 19);
    const again = { ...freeze?.row, id: "g" };
    await assert.rejects(insert(store, "call_freeze", again), /unique|23505/i);
    await insert(store, "call_freeze", { ...again, lifted_at: 9, lifted_by: "operator:cli" });
  },
);

function sorted(row: Row): readonly (readonly [string, unknown])[] {
  return Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1));
}
