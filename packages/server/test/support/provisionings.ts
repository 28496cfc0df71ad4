/**
 * A provider with idempotent results that must outlive changes of its secret key, and what was
 * answered, to hold later answers against.
 */

import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import type { TestContext } from "node:test";
import type { ProvisionInstanceResponse } from "@countersign/protocol";
import { databaseFile } from "../../src/index.ts";
import { masterKeyId } from "../../src/secrets/keyring.ts";
import { startTestProvider, type TestProvider, type TestProviderOptions } from "./test-provider.ts";

export type KeySettings = Readonly<
  Partial<Record<"secret_key" | "secret_key_previous", string | undefined>>
>;

export function newKey(): string {
  return randomBytes(32).toString("base64");
}

export function idOf(key: string): string {
  return masterKeyId(Buffer.from(key, "base64"));
}

/** A folder that goes with the test. */
export function dataFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "countersign-test-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Serves a data folder for as long as the work takes. */
export async function serving<T>(
  t: TestContext,
  data: string,
  keys: KeySettings,
  work: (server: TestProvider) => Promise<T> | T,
  parts: Omit<TestProviderOptions, "data" | "settings"> = {},
): Promise<T> {
  const given = Object.entries(keys).filter(([, key]) => key !== undefined);
  const settings = Object.fromEntries(given) as Record<string, string>;
  const server = await startTestProvider(t, { ...parts, data, settings });
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

/** The call of the provisioner, and its answer. */
export interface Provisioned {
  readonly provisioner: string;
  readonly provisioning: ProvisionInstanceResponse;
  readonly renaming: unknown;
}

const PROVISIONING = { instance_name: "first" };
const RENAMING = { instance_name: "second" };

/** Provisions an instance and renames it, each under the key `key`. */
export async function provisionAndRename(server: TestProvider, key = "one"): Promise<Provisioned> {
  const token = await server.token({ kind: "provisioner" });
  const created = await server.call<ProvisionInstanceResponse>("POST", "/v1/instances", {
    token,
    key,
    body: PROVISIONING,
  });
  assert.equal(created.status, 201, created.text);
  const path = `/v1/instances/${created.json.instance.id}`;
  const renamed = await server.call("PATCH", path, { token, key, body: RENAMING });
  assert.equal(renamed.status, 200, renamed.text);
  return { provisioner: token, provisioning: created.json, renaming: renamed.json };
}

/** Everything is as the server returned it: replays, conflicts, and the credential itself. */
export async function assertKept(
  server: TestProvider,
  provisioned: Provisioned,
  key = "one",
): Promise<void> {
  const { provisioner: token, provisioning, renaming } = provisioned;
  const path = `/v1/instances/${provisioning.instance.id}`;
  const created = await server.call("POST", "/v1/instances", { token, key, body: PROVISIONING });
  assert.deepEqual([created.status, created.json], [200, provisioning], created.text);
  const renamed = await server.call("PATCH", path, { token, key, body: RENAMING });
  assert.deepEqual([renamed.status, renamed.json], [200, renaming], renamed.text);
  const others = [
    await server.call("POST", "/v1/instances", { token, key, body: RENAMING }),
    await server.call("PATCH", path, { token, key, body: PROVISIONING }),
  ];
  for (const other of others) assert.equal(other.status, 409, other.text);
  await assertAccepted(server, provisioning.credential.token);
}

/** The credential works: the answer is that there is no such request. */
export async function assertAccepted(server: TestProvider, token: string): Promise<void> {
  const { status } = await server.call("GET", `/v1/requests/${randomUUID()}`, { token });
  assert.equal(status, 404);
}

/** Runs one statement on the database of a stopped server. */
export function query(data: string, sql: string, ...values: SQLInputValue[]): unknown[] {
  const database = new DatabaseSync(databaseFile(data));
  try {
    return database.prepare(sql).all(...values);
  } finally {
    database.close();
  }
}

const KEY_IDS = `
  select key_id as id from secret_key
  union select substr(encrypted_fingerprint_key, 1, 8) from secret_key
  union select substr(encrypted_credential, 1, 8) from idempotency
    where encrypted_credential is not null
  union select substr(encrypted_secret, 1, 8) from receiver`;

/** Ids of all keys that something in the database of a stopped server is encrypted with. */
export function keyIdsIn(data: string): unknown[] {
  return query(data, KEY_IDS).map((row) => (row as { id: unknown }).id);
}
