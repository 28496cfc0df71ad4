// Tier: slow
import assert from "node:assert/strict";
import { closeSync, openSync, writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { fileOwner } from "@countersign/testing/child";
import { startServer } from "@countersign/testing/countersign";
import { databaseFile } from "../src/index.ts";
import {
  assertImported,
  copyOf,
  makeSource,
  newTarget,
  runImport,
  tamperWith,
} from "./support/imports.ts";

const source = await makeSource(fileOwner());
const idOf = (key: string) => source.requests.get(key)?.id ?? "";

test("[ours.import.damaged] a request with a wrong checksum is named and refused, and copied only when that is asked for", async (t) => {
  const data = copyOf(source, t);
  const [deny, cancel] = [idOf("deny"), idOf("cancel")];
  tamperWith(
    data,
    `update request set status = 'approved', expires_at = 9999999999999 where id = '${deny}'`,
    `update request set arguments = '{"env":"dev"}' where id = '${cancel}'`,
  );
  const target = await newTarget(source);
  const { code, stdout, stderr } = await runImport(t, data, target);
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /rows are damaged \(2\); restore a backup, or .* --accept-damaged/);
  for (const id of [deny, cancel]) {
    assert.ok(
      stderr.includes(
        `\ncountersign:   request ${id}: its content does not match its MAC or checksum\n`,
      ),
    );
  }
  assert.equal((await startServer(t, { data })).data, data);
});

test("[ours.import.damaged] a damaged copied request cannot be read, and the others can", async (t) => {
  const data = copyOf(source, t);
  const damaged = idOf("deny");
  tamperWith(data, `update request set status = 'approved' where id = '${damaged}'`);
  const target = await newTarget(source);
  const { code, stdout, stderr } = await runImport(t, data, target, "--accept-damaged", "--json");
  assert.equal(code, 0, stderr);
  assert.deepEqual(JSON.parse(stdout).damaged, [damaged]);
  const server = await startServer(t, { env: target.env });
  const agent = source.agent.at(server);
  assert.equal((await agent.get(damaged)).status, 503);
  const requests = new Map([...source.requests].filter(([key]) => key !== "deny"));
  await assertImported(server, { ...source, requests });
});

test("[ours.import.damaged] a value that PostgreSQL cannot store is named and refused, also with --accept-damaged", async (t) => {
  const damages = {
    "provisioner set name = 'a' || char(0) || 'b'": /provisioner \S+: name holds the character/,
    "project set name = cast(x'61ff' as text) where name = 'default'":
      /project \S+: name is not UTF-8/,
    "audit_entry set actor = cast(x'eda080' as text)": /audit_entry \S+: actor is not UTF-8/,
    "audit_entry set at = 9007199254740993": /table audit_entry: a stored number is too large/,
    "credential set created_at = 1.5": /credential \S+: created_at is no bigint/,
    "credential set token_hash = cast(token_hash as blob)": /credential \S+: token_hash is no text/,
    "instance set deleted_at = 'never'": /instance \S+: deleted_at is no bigint/,
  };
  const target = await newTarget(source);
  for (const [damage, says] of Object.entries(damages)) {
    const data = copyOf(source, t);
    tamperWith(data, `update ${damage}`);
    const { code, stderr } = await runImport(t, data, target, "--accept-damaged");
    assert.equal(code, 1, damage);
    assert.match(stderr, says);
  }
  // None of them left anything.
  const { code, stderr } = await runImport(t, copyOf(source, t), target);
  assert.equal(code, 0, stderr);
});

test("[ours.import.damaged] a reference to a missing row is rejected", async (t) => {
  const data = copyOf(source, t);
  const orphan = "update request set instance_id = 'nobody'";
  tamperWith(data, "pragma foreign_keys = off", `${orphan} where id = '${idOf("deny")}'`);
  const target = await newTarget(source);
  const { code, stderr } = await runImport(t, data, target, "--accept-damaged");
  assert.equal(code, 1);
  assert.match(stderr, /request \S+: the instance that it belongs to is missing/);
});

test("[ours.import.damaged] a damaged page stops the import before it copies anything", async (t) => {
  const data = copyOf(source, t);
  const noise = new Uint8Array(PAGE_BYTES).fill(0xa5);
  const descriptor = openSync(databaseFile(data), "r+");
  writeSync(descriptor, noise, 0, PAGE_BYTES, PAGE_BYTES * (rootPage(data, "audit_entry") - 1));
  closeSync(descriptor);
  const { code, stderr } = await runImport(t, data, await newTarget(source), "--accept-damaged");
  assert.equal(code, 1);
  assert.match(stderr, /the database \S+ cannot be read: /);
});

const PAGE_BYTES = 4096;

function rootPage(data: string, table: string): number {
  const database = new DatabaseSync(databaseFile(data), { readOnly: true });
  const row = database.prepare("select rootpage from sqlite_schema where name = ?").get(table);
  database.close();
  return Number(row?.rootpage);
}
