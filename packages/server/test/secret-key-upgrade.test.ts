import assert from "node:assert/strict";
import { createHmac, hkdfSync } from "node:crypto";
import { cpSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { TestContext } from "node:test";
import { databaseFile } from "../src/index.ts";
import { testOnly } from "./support/engine.ts";
import {
  assertKept,
  dataFolder,
  idOf,
  keyIdsIn,
  newKey,
  type Provisioned,
  provisionAndRename,
  serving,
} from "./support/provisionings.ts";

const test = testOnly("sqlite", "schema 1 was never on PostgreSQL");

const SCHEMA_1 = readFileSync(
  join(import.meta.dirname, "../src/storage/migrations/0001_initial.sql"),
  "utf8",
);

/** As version 0.1.0 did it, with a key derived from the master key. */
function fingerprintOf010(masterKey: string, canonical: string): string {
  const master = Buffer.from(masterKey, "base64");
  const key = Buffer.from(hkdfSync("sha256", master, "", "countersign fingerprint", 32));
  return createHmac("sha256", key).update(canonical).digest("base64url");
}

/** Turns the database of a stopped server into the one that version 0.1.0 would have made. */
function downgrade(data: string, masterKey: string): void {
  const newer = join(data, "newer.db");
  cpSync(databaseFile(data), newer);
  for (const part of ["", "-wal", "-shm"]) rmSync(databaseFile(data) + part, { force: true });
  const database = new DatabaseSync(databaseFile(data));
  try {
    database.exec("create table schema_version (version bigint not null)");
    database.exec("insert into schema_version values (1)");
    database.exec(SCHEMA_1);
    database.exec(`delete from health; attach '${newer}' as newer; pragma foreign_keys = off`);
    database.exec(
      "alter table newer.idempotency rename column encrypted_credential to sealed_credential",
    );
    const tables = database.prepare("select name from main.sqlite_schema where type = 'table'");
    for (const { name } of tables.all()) {
      if (name === "schema_version") continue;
      const columns = database.prepare(`select name from pragma_table_info('${name}', 'main')`);
      const list = columns.all().map((column) => column.name);
      database.exec(`insert into main.${name} (${list}) select ${list} from newer.${name}`);
    }
    const update = database.prepare("update idempotency set fingerprint = ? where scope like ?");
    update.run(fingerprintOf010(masterKey, '{"instance_name":"first"}'), "provision:%");
    update.run(fingerprintOf010(masterKey, '{"instance_name":"second"}'), "update:%");
  } finally {
    database.close();
    rmSync(newer);
  }
}

/** A data folder that version 0.1.0 has made and left. */
async function dataOf010(
  t: TestContext,
  masterKey: string,
): Promise<{ data: string; provisioned: Provisioned }> {
  const data = dataFolder(t);
  const key = { secret_key: masterKey };
  const provisioned = await serving(t, data, key, (server) => provisionAndRename(server));
  downgrade(data, masterKey);
  return { data, provisioned };
}

test("[ours.secret-key.upgrade] replays of a database of schema 1 work after the upgrade, and after a rotation then", async (t) => {
  const [old, current] = [newKey(), newKey()];
  const { data, provisioned } = await dataOf010(t, old);
  await serving(t, data, { secret_key: old }, (server) => assertKept(server, provisioned));
  const both = { secret_key: current, secret_key_previous: old };
  await serving(t, data, both, (server) => assertKept(server, provisioned));
  assert.deepEqual(keyIdsIn(data), [idOf(current)]);
  await serving(t, data, { secret_key: current }, (server) => assertKept(server, provisioned));
});

test("[ours.secret-key.upgrade] one start can do the upgrade and a rotation", async (t) => {
  const [old, current] = [newKey(), newKey()];
  const { data, provisioned } = await dataOf010(t, old);
  const both = { secret_key: current, secret_key_previous: old };
  await serving(t, data, both, (server) => assertKept(server, provisioned));
  assert.deepEqual(keyIdsIn(data), [idOf(current)]);
  await serving(t, data, { secret_key: current }, (server) => assertKept(server, provisioned));
});

test("[ours.secret-key.lost] a database of schema 1 opens only with its key", async (t) => {
  const [old, current] = [newKey(), newKey()];
  const { data, provisioned } = await dataOf010(t, old);
  await assert.rejects(
    serving(t, data, { secret_key: current }, () => {}),
    new RegExp(`differs from the key of this database \\(${idOf(old)}\\)`),
  );
  await serving(t, data, { secret_key: old }, (server) => assertKept(server, provisioned));
});
