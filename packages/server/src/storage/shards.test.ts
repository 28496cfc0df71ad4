/**
 * Requirements of a distributed PostgreSQL for the schema and the statements, and the query plans
 * of SQLite for these. Reasons: docs/decisions/0011-primary-keys-carry-the-project.md.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { applyMigrations, openFile, testOnEmptyStores } from "../../test/support/empty-store.ts";
import { ENCRYPTED_COLUMNS } from "./sql/operate/encrypted-columns.ts";
import type { Store } from "./store.ts";

const ADR = readFileSync(
  join(import.meta.dirname, "../../../../docs/decisions/0011-primary-keys-carry-the-project.md"),
  "utf8",
);

/** Keys without a project, as `table (columns)`. */
const OTHER_KEYS: readonly string[] = [
  // A reference table, a copy of which is on every shard.
  "project (id)",
  "project (name)",
  // A token is looked up before its project is known.
  "credential (token_hash)",
  // People are of the whole server; a copy on every shard.
  "person (id)",
  "person (login)",
  "person (oidc_subject)",
  "person (external_id)",
  "passkey (id)",
  "session (token_hash)",
  "invitation (token_hash)",
  "ceremony (id)",
  "preference (person_id)",
  "push_subscription (id)",
  "push_subscription (endpoint_sha256)",
  // Users and groups of an identity provider, for the whole server.
  "scim_token (token_hash)",
  "scim_token (id)",
  "scim_user (person_id)",
  "scim_user (user_name_key)",
  "scim_group (id)",
  "scim_member (group_id, person_id)",
  // Of the database, not of projects.
  "secret_key (key_id)",
  "push_key (id)",
];

const UNIQUE_INDEXES = {
  sqlite: `
    select tables.name as table_name, indexes.name as index_name, columns.name as column_name
    from sqlite_schema as tables, pragma_index_list(tables.name) as indexes,
      pragma_index_info(indexes.name) as columns
    where tables.type = 'table' and indexes."unique" = 1
      and tables.name not like 'search_words_%' -- parts of a table of FTS5
    order by tables.name, indexes.name, columns.seqno`,
  postgres: `
    select tables.relname::text as table_name, indexes.relname::text as index_name,
      columns.attname::text as column_name
    from pg_index
      join pg_class as tables on tables.oid = pg_index.indrelid
      join pg_class as indexes on indexes.oid = pg_index.indexrelid
      join pg_attribute as columns on columns.attrelid = indexes.oid
    where pg_index.indisunique and tables.relnamespace = 'public'::regnamespace
    order by tables.relname, indexes.relname, columns.attnum`,
};

/** As `table (columns)`. */
async function uniqueKeys(store: Store, engine: keyof typeof UNIQUE_INDEXES): Promise<string[]> {
  const keys = new Map<string, { table: string; columns: string[] }>();
  for (const row of await store.all(UNIQUE_INDEXES[engine])) {
    const name = String(row.index_name);
    const key = keys.get(name) ?? { table: String(row.table_name), columns: [] };
    key.columns.push(String(row.column_name));
    keys.set(name, key);
  }
  return [...keys.values()].map(({ table, columns }) => `${table} (${columns.join(", ")})`).sort();
}

testOnEmptyStores(
  "[ours.shards.keys] every primary key and unique index starts with the project",
  async (store, engine) => {
    await applyMigrations(store, 1);
    const keys = await uniqueKeys(store, engine);
    const others = keys.filter((key) => !/ \(project_id[,)]/.test(key));
    assert.deepEqual(others, [...OTHER_KEYS].sort());
    assert.equal(keys.length, OTHER_KEYS.length + 50);
    const [, table = ""] = ADR.split("| In Citus |");
    const [rows = ""] = table.split("\n\n");
    const tables = new Set(keys.map((key) => key.replace(/ .*/, "")));
    const missing = [...tables].filter((name) => !rows.includes(`\`${name}\``));
    assert.deepEqual(missing, [], "the table of ADR 11 has every table with a key");
  },
);

interface Statement {
  /** The function that sends it, or the constant that holds it. */
  readonly name: string;
  readonly sql: string;
}

const FOLDERS = [join(import.meta.dirname, "sql"), join(import.meta.dirname, "../audit")];

/** The statement is composed from column names; the test checks ENCRYPTED_COLUMNS instead. */
const COMPOSED = new Set(["readEncryptedWithOtherKeys", "replaceEncrypted"]);

const NAME_OR_TEXT =
  /(?:^export async function|^async function|^const) (\w+)|`([^`]*)`|"((?:[^"\\\n]|\\.)*)"/gm;

/** Every statement on a table, with constants put in place and lists of two. */
function statements(): Statement[] {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
      .map((name) => readFileSync(join(folder, name), "utf8")),
  );
  const shared = constantsIn(files.join("\n"), new Map([["LATEST", "1"]]));
  return files.flatMap((file) => statementsIn(file, constantsIn(file, shared)));
}

function constantsIn(
  file: string,
  known: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const found = file.matchAll(/const ([A-Z_]+) = (?:`([^`]*)`|"([^"]*)")/g);
  return new Map([
    ...known,
    ...[...found].map(([, name = "", a, b]) => [name, a ?? b ?? ""] as const),
  ]);
}

function statementsIn(file: string, constants: ReadonlyMap<string, string>): Statement[] {
  const found: Statement[] = [];
  let name = "";
  for (const [, definedName, template, text] of file.matchAll(NAME_OR_TEXT)) {
    name = definedName ?? name;
    const written = (template ?? text ?? "").trim();
    if (COMPOSED.has(name) || !/^(select|insert|update|delete|with|\$\{[A-Z]+\}) /.test(written)) {
      continue;
    }
    found.push({ name, sql: expand(written, constants) });
  }
  return found;
}

function expand(text: string, constants: ReadonlyMap<string, string>): string {
  if (!text.includes("${")) return text;
  const expanded = text.replace(/\$\{([^}]+)\}/g, (whole, inner: string) => {
    if (inner === "QUALIFIED_COLUMNS") return "notification.body";
    if (inner === "params") return "'a', 'b'";
    if (inner.startsWith("params.")) return "('a', 'b')";
    return constants.get(inner) ?? assert.fail(`unknown in a statement: ${whole}`);
  });
  return expand(expanded, constants);
}

const LOCAL = [
  "project",
  "secret_key",
  "health",
  "schema_version",
  // Small and asked for with every call, also what is above all projects: a copy on every shard.
  "policy_version",
  "policy_proposal",
  "call_freeze",
  "active_state_stamp",
  // Users and their sign-in, before a project is known.
  "person",
  "passkey",
  "session",
  "invitation",
  "ceremony",
  "preference",
  "push_subscription",
  "push_key",
  "scim_token",
  "scim_user",
  "scim_group",
  "scim_member",
];
const DISTRIBUTED = [
  "provisioner",
  "reviewer",
  "instance",
  "workload_instance",
  "credential",
  "idempotency",
  "verification",
  "receiver",
  "request",
  "notification",
  "audit_entry",
  "call_grant",
  "vote",
  "audit_log",
  "audit_seal",
  "audit_tile",
  "audit_stream",
  "channel",
  "announcement",
  "channel_post",
  "request_claim",
  "request_comment",
  "decision_notice",
  "absence",
  "chat_link",
  "oncall_schedule",
  "chat_code",
  "chat_event",
  "chat_connection",
  "delayed_verdict",
  "failed_confirmation",
  "push_message",
  "consumption",
  "search_document",
  "search_progress",
];

function isRouted(sql: string): boolean {
  const tables = [...sql.matchAll(/\b(?:from|join|into|(?<!do )update) (\w+)/g)].map(
    ([, table]) => table,
  );
  const distributed = tables.filter((table = "") => DISTRIBUTED.includes(table));
  if (distributed.length === 0) return tables.every((table = "") => LOCAL.includes(table));
  if (distributed.every((table) => table === "credential")) {
    return sql.includes("token_hash = $") || /^insert [^)]*\btoken_hash\b/.test(sql);
  }
  if (sql.startsWith("insert ")) return /^insert into \w+\s*\([^)]*\bproject_id\b/.test(sql);
  const named = sql.match(/\bproject_id = /g)?.length ?? 0;
  return named >= distributed.length && /\bproject_id = \$\d/.test(sql);
}

/** The table `Queries over all projects` in the ADR: names of functions in backticks. */
function listedFanOuts(): string[] {
  const [, section = ""] = ADR.split("## Queries over all projects");
  const names = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name = ""]) => name);
  return names.filter((name) => !COMPOSED.has(name)).sort();
}

test("[ours.shards.routed] every statement names the project of its rows, or is in the list of ADR 11", () => {
  const all = statements();
  assert.ok(all.length > 60, `only ${all.length} statements were found`);
  const others = new Set(all.filter(({ sql }) => !isRouted(sql)).map(({ name }) => name));
  assert.deepEqual([...others].sort(), listedFanOuts());
  for (const { table, key } of ENCRYPTED_COLUMNS) {
    if (!LOCAL.includes(table)) assert.equal(key[0], "project_id", table);
  }
});

/** Those that go through all there is of something, which is little or what they are for. */
const WALKS: Readonly<Record<string, RegExp>> = {
  countPending: /^SCAN request USING COVERING INDEX request_deadline$/,
  readNextDeadline: /^SCAN request USING COVERING INDEX request_deadline$/,
  countWaitingNotifications: /^SCAN notification USING COVERING INDEX notification_/,
  listOperatorCredentials: /^SCAN credential$/,
  readInstanceGroups: /^SEARCH instance USING COVERING INDEX instance_grouped \(project_id=\?\)$/,
  readActiveState: /^SEARCH policy_version USING COVERING INDEX \w+ \(project_id=\?\)$/,
  listProvisionersOf: /^SEARCH provisioner USING INDEX \w+ \(project_id=\?\)$/,
  // At the first exchange of a workload. A name is too long for an index.
  hasInstanceNamed: /^SEARCH instance USING INDEX \w+ \(project_id=\?\)$/,
  // At most 50 of a project.
  listSchedulesOf: /^SEARCH oncall_schedule USING INDEX \w+ \(project_id=\?\)$/,
  readDueSchedules: /^SCAN oncall_schedule$/,
  listLinks: /^SEARCH chat_link USING INDEX \w+ \(project_id=\?\)$/,
  listReviewersOf: /^SEARCH reviewer USING INDEX \w+ \(project_id=\?\)$/,
  // Its key is the project alone.
  readActiveStateStamp: /^SEARCH active_state_stamp USING INDEX \w+ \(project_id=\?\)$/,
  readPolicyNumber: /^SEARCH policy_version USING COVERING INDEX \w+ \(project_id=\?\)$/,
  readActivePolicyVersion: /^SEARCH policy_version USING INDEX \w+ \(project_id=\?\)$/,
  readTwoPerson: /^SEARCH policy_version USING INDEX \w+ \(project_id=\?\)$/,
  // The open proposal of a project: written by its editors and not yet published.
  readOpenProposal: /^SEARCH policy_proposal USING INDEX policy_proposal_open \(project_id=\?\)$/,
  // The first of what waits in a project.
  countPendingOfInstances: /^SEARCH request USING INDEX request_pending \(project_id=\?\)$/,
  // The people of a project, when what is active has changed, or a call is announced.
  hasPushAudience: /^SEARCH reviewer USING INDEX reviewer_person \(project_id=\?\)$/,
  readPushAudience: /^SEARCH reviewer USING INDEX reviewer_person \(project_id=\?\)$/,
  // Pushes that browsers show, every ten seconds.
  wakeShownPushes:
    /^SEARCH push_message USING (COVERING )?INDEX push_message_shown \(project_id=\?\)$/,
  // At most 50 of a project.
  listChannelsOf: /^SEARCH channel USING INDEX \w+ \(project_id=\?\)$/,
  readUsedChannels: /^SEARCH channel USING INDEX \w+ \(project_id=\?\)$/,
  releaseChannels: /^SEARCH channel USING INDEX \w+ \(project_id=\?\)$/,
  readDueChannels: /^SCAN channel$/,
  readDecidingChannels: /^SCAN channel$/,
  // Once for a database.
  hasAuditLog: /^SCAN audit_log USING COVERING INDEX /,
  readHighestId: /^(SCAN|SEARCH) (request|audit_entry) USING COVERING INDEX/,
  // A row for each project.
  readLogs: /^SCAN audit_log USING INDEX /,
  // At most two rows of a project.
  readStreamPositions: /^SEARCH audit_stream USING INDEX \w+ \(project_id=\?\)$/,
  releaseStreams: /^SEARCH audit_stream USING INDEX \w+ \(project_id=\?\)$/,
  readDueStreams: /^(SCAN|SEARCH) audit_log USING (COVERING )?INDEX /,
  readStreamLag: /^SCAN audit_log( |$)/,
  readLogsDueForRescan: /^SCAN audit_log$/,
  readUnindexedLogs:
    /^(SCAN audit_log|SEARCH search_progress) USING INDEX \w+( \(project_id=\?\) LEFT-JOIN)?$/,
  readUnsealedLogs: /^(SCAN audit_log|SEARCH audit_entry USING COVERING INDEX .* \(project_id=.*)$/,
  // The first of them; all behind an id, and from a day on: what has it.
  readFirstPosition: /^SEARCH audit_seal USING COVERING INDEX/,
  // None for longer than a minute.
  readNextDelayedVerdict: /^SCAN delayed_verdict USING (COVERING )?INDEX delayed_verdict_due$/,
  // Pending requests, by their index, and up to a bound.
  countPendingOf: /^SEARCH request USING COVERING INDEX request_pending \(project_id=\?\)$/,
  readPendingIds: /^SEARCH request USING INDEX request_pending \(project_id=\?\)$/,
  releaseVerifications: /^SEARCH verification USING INDEX \w+ \(project_id=\?\)$/,
};

/** One row for each project. */
const KEYED_BY_PROJECT =
  /^SEARCH (audit_log|search_progress) USING (COVERING )?INDEX \w+ \(project_id=\?\)$/;

/** The index of what waits in a whole project is for these; others are about one instance. */
const OF_ALL_THAT_WAITS = ["listWaitingNotifications", "releaseNotifications"];

test("SQLite reads no whole table and no whole project for any statement", async (t) => {
  const store = openFile(t);
  try {
    await applyMigrations(store, 1);
    for (const { name, sql } of statements()) {
      if (sql.startsWith("insert ")) continue;
      const rows = await store.transact((tx) => tx.all(`explain query plan ${sql}`));
      for (const detail of rows.map((row) => String(row.detail))) {
        if (WALKS[name]?.test(detail) || KEYED_BY_PROJECT.test(detail)) continue;
        const scanned = /^SCAN (\w+)/.exec(detail)?.[1] ?? "";
        assert.ok(!DISTRIBUTED.includes(scanned), `${name}: ${detail}`);
        assert.doesNotMatch(detail, /\(project_id[=>]\?\)/, name);
        if (detail.includes("notification_waiting")) {
          assert.ok(OF_ALL_THAT_WAITS.includes(name), `${name}: ${detail}`);
        }
      }
    }
  } finally {
    await store.close();
  }
});
