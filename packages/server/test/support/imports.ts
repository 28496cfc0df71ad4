/**
 * A data folder with something in every table, as a stopped server left it, and the command that
 * imports it. Always SQLite, whatever engine the test run is on.
 */

import assert from "node:assert/strict";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { ApprovalRequest, ProvisionInstanceResponse } from "@countersign/protocol";
import { Agent, exchange, makeToken, provision, SUBMISSION } from "@countersign/testing/agents";
import { type Outcome, type Owner, temporaryFolder } from "@countersign/testing/child";
import {
  countersign,
  type Server,
  spawnCountersign,
  startServer,
} from "@countersign/testing/countersign";
import { newNotified, notify, SENDS_NOTHING, withStore } from "@countersign/testing/deliveries";
import { databaseFile } from "../../src/index.ts";
import { createDatabase } from "./postgres.ts";

export interface Source {
  readonly data: string;
  /** As `secret.key` has it. */
  readonly key: string;
  readonly agent: Agent;
  readonly reviewer: string;
  readonly provisioner: string;
  readonly provisioning: ProvisionInstanceResponse;
  /** As the server last returned them, by idempotency key. */
  readonly requests: ReadonlyMap<string, ApprovalRequest>;
}

/** Everything that the syntax of an array, of SQL or of JSON could be broken with. */
const STRANGE = `\\"'{},NULL \\\\ \u2028 \ufffd é😀 \\u0000 $1 \t%`;

export function fieldsOf(key: string): object {
  const strange = `${key} ${STRANGE}\u0000`;
  return {
    ...SUBMISSION,
    tool: `deploy ${strange}`,
    arguments: { [strange]: [1e300, 0.1, strange, null, ""] },
    context: { a: strange },
    agent_reasoning: strange,
  };
}

/** One of each table that nothing above writes to. */
const OTHER_ROWS = [
  "verification values ('p', 's', 'k', 'f', 'i', 1, 0, null, null, 0, 1, 1, 2)",
  "policy_version values ('', 1, 'aa', 'version: 1', null, 0, 'operator:cli', 1, 'reviewer:r')",
  `policy_proposal values ('', 'd', 0, 'aa', 'version: 1', 'why', 1, 2, 0, 'reviewer:r', 'p',
    'rejected', 3, 'reviewer:q', 'no')`,
  "active_state_stamp values ('p', 1)",
  `workload_instance select project_id, 'b', id, 'ci', 'https://issuer.example',
    '{"repository":"acme/deploy"}', 0 from instance limit 1`,
  "call_freeze values ('p', 'z', '', 'why', 0, 'operator:cli', 1, 'operator:cli')",
  "call_grant values ('p', 'g', 'i', 'r', '{}', 0, 1, 10, 3, null, null)",
  `vote values ('p', 'q', 'r', null, 60000, 0, null, '["dba"]')`,
  `delayed_verdict values ('p', 'q', 'r', 'approve', 'aa', '"why"', 60000, '"3f2a"',
    'c', 1, 0, 5000)`,
  "failed_confirmation values ('p', 'q', 'r', 2, 7)",
  `consumption select project_id, id, 'k', 7, 'failed', '"why"', 8 from request limit 1`,
  "person values ('e', 'ana@example.com', 'Ana', null, null, 0, null, 'x', null)",
  "scim_token values ('h', 't', 'provider', 0, null, null)",
  "scim_user values ('e', 'Ana@example.com', 'ana@example.com', '{}', 0, 1)",
  "scim_group values ('g', 'approvers', null, 0, 1)",
  "scim_member values ('g', 'e')",
  "passkey values ('c', 'e', 'phone', 'pQEC', 0, '[]', 0, null)",
  "session values ('h', 's', 'e', 'p', 'passkey', 'Firefox', 0, 0, 1, 'a digest', 1)",
  "invitation values ('h', 'v', 'p', null, 'Li', 'viewer', '[]', 0, 'operator:cli', 1, null)",
  "ceremony values ('h', 'sign-in', null, '{}', 1)",
  "audit_log values ('p', 'o', 'AA', 's', 1, '', 'a', 'p\n1\nAA\n', 0, 0, 0, '', 0, 0, '')",
  "audit_seal values ('p', 0, 1, 'a', 'a', 'a', 'AA', 'p\n1\nAA\n', 0)",
  "audit_tile values ('p', 1, 0, 'AA')",
  "audit_stream values ('p', 'http', 7, 3, 9, 2, 8)",
  `channel values ('p', 'n', 'ops', 'ntfy', '[]', 1, 300000, 'https://a/...', 's', 0,
    'reviewer:r', null, 5, 3, 1, 9, 8, 'rejected', 403, 7, 2, 6, 1, '[]', null,
    0)`,
  `announcement select project_id, 'a', id, 'n', 'opened', 0, 9, null, 1, 'sent'
    from request limit 1`,
  `channel_post select project_id, 'n', '1.2', 'C0', id, 9, null, null, 'n', 'aa', 1
    from request limit 1`,
  `oncall_schedule values ('p', 's', 'payments', 'static', 's', '{}', null, null, '[]', null,
    0)`,
  "decision_notice select project_id, 'n', id, 'm', null from request limit 1",
  "absence values ('p', 'r', 0, 1, null)",
  "request_claim select project_id, id, 'r', 0, 1 from request limit 1",
  `request_comment select project_id, id, 'c', 'r', '"why"', 7 from request limit 1`,
  "chat_link values ('p', 'l', 'slack_app', 'T', 'U', 'ana', 'r', 0)",
  "chat_code values ('p', 'r', 'h', 1)",
  "chat_event values ('p', 'n', 'e', 0)",
  "chat_connection values ('p', 'a', 'o', 1, 'connected', 0)",
  `preference values ('e', '{"version":1,"theme":"dark","keys":true,"quietHours":null}', 0)`,
  "push_key values ('vapid', 'BA', 's', 0)",
  `push_subscription values ('b', 'e', 'aa', 'phone', 'https://push.example/...', 's', 0, null, 2,
    1, 9, 8, 'rejected', 500)`,
  `push_message select project_id, id, 'b', 1, null from request limit 1`,
];

/** Starts a server, uses it, and stops it. */
export async function makeSource(owner: Owner): Promise<Source> {
  const server = await startServer(owner, { args: SENDS_NOTHING });
  const provisioner = await makeToken(server.data, { kind: "provisioner" });
  const reviewer = await makeToken(server.data, { kind: "reviewer" });
  const provisioning = await provision(server, provisioner);
  const agent = new Agent(server.url, provisioning.credential.token);
  const requests = new Map<string, ApprovalRequest>();
  for (const key of ["pending", "approve", "deny", "cancel"]) {
    const answer = await agent.post(key, fieldsOf(key));
    assert.equal(answer.status, 201, answer.text);
    const { id } = answer.json;
    if (key === "cancel") await agent.cancel(id);
    if (key === "approve" || key === "deny") await decide(server, reviewer, id, key);
    requests.set(key, await agent.read(id));
  }
  const notified = await newNotified(server, "notified", "https://receiver.example/hook");
  await notify(server, notified);
  await withStore(server, (store) =>
    store.transact(async (tx) => {
      for (const row of OTHER_ROWS) await tx.run(`insert into ${row}`);
    }),
  );
  await server.stop();
  const key = readFileSync(join(server.data, "secret.key"), "utf8").trim();
  return { data: server.data, key, agent, reviewer, provisioner, provisioning, requests };
}

export async function decide(
  { url }: Pick<Server, "url">,
  reviewer: string,
  id: string,
  verdict: string,
): Promise<void> {
  const path = `${url}/review/v1/requests/${id}`;
  const shown = await exchange<{ arguments_sha256: string }>("GET", path, reviewer);
  const { arguments_sha256 } = shown.json;
  const body = { verdict, arguments_sha256, note: `${verdict} ${STRANGE}` };
  const answer = await exchange("POST", `${path}/verdict`, reviewer, body);
  assert.equal(answer.status, 200, answer.text);
}

/** A copy of the folder, for a test to import, damage or serve. */
export function copyOf({ data }: Source, owner: Owner): string {
  const copy = join(temporaryFolder(owner), "data");
  cpSync(data, copy, { recursive: true });
  return copy;
}

/** Changes the database of a stopped server behind its back. */
export function tamperWith(data: string, ...statements: readonly string[]): void {
  const database = new DatabaseSync(databaseFile(data));
  try {
    for (const statement of statements) database.exec(statement);
  } finally {
    database.close();
  }
}

export interface Target {
  readonly url: string;
  /** The environment of an import and of the replicas. */
  readonly env: Readonly<Record<string, string>>;
}

export async function newTarget({ key }: Source): Promise<Target> {
  const url = await createDatabase();
  return { url, env: { COUNTERSIGN_DATABASE_URL: url, COUNTERSIGN_SECRET_KEY: key } };
}

/** Runs `countersign import` to its end. */
export function runImport(
  owner: Owner,
  from: string,
  { env }: Pick<Target, "env">,
  ...more: readonly string[]
): Promise<Outcome> {
  return countersign(owner, ["import", from, ...more], { env });
}

/** Starts `countersign import` and goes on. */
export function startImport(owner: Owner, from: string, { env }: Pick<Target, "env">) {
  return spawnCountersign(owner, ["import", from], { env });
}

/** Everything is as the source returned it, and goes on. */
export async function assertImported(server: Server, source: Source): Promise<void> {
  const agent = source.agent.at(server);
  for (const [key, expected] of source.requests) {
    assert.deepEqual(await agent.read(expected.id), expected);
    const replay = await agent.post(key, fieldsOf(key));
    assert.deepEqual([replay.status, replay.json], [200, expected]);
    assert.equal((await agent.post(key, fieldsOf("other"))).status, 409);
  }
  assert.deepEqual(await provision(server, source.provisioner), source.provisioning);
}
