/**
 * Programs of two schemas side by side on one PostgreSQL.
 */

import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { type TestContext, test } from "node:test";
import { firstIdAt } from "@countersign/protocol";
import { countersign, startServer } from "@countersign/testing/countersign";
import { systemRandom } from "../src/clock.ts";
import { endsSession } from "../src/core/logout-token.ts";
import { Failure, openContext, Report, readConfig, toSecrets, toSettings } from "../src/index.ts";
import { claimRescans, recordRescan } from "../src/operations/audit/claimRescans.ts";
import { migrate } from "../src/storage/migrate.ts";
import { PostgresStore } from "../src/storage/postgres/postgres-store.ts";
import { readMigrations } from "../src/storage/read-migrations.ts";
import { readSchemaVersion } from "../src/storage/schema-version.ts";
import { readDueEscalations } from "../src/storage/sql/requests/escalations.ts";
import { authenticateRow } from "../src/storage/sql/requests/request-rows.ts";
import { listSessions } from "../src/storage/sql/sign-in/sessions.ts";
import type { Row } from "../src/storage/store.ts";
import { ADDITIVE, BREAKING, KNOWN, laterMigrations } from "./support/later-migrations.ts";
import { ManualClock } from "./support/manual-clock.ts";
import { newPerson } from "./support/people.ts";
import { enforce, policyOf } from "./support/policies.ts";
import { createDatabase } from "./support/postgres.ts";
import { submitBody } from "./support/scene.ts";
import { startLongPoll } from "./support/start-long-poll.ts";
import { SUBMISSION, startTestProvider, type TestProvider } from "./support/test-provider.ts";
import { until } from "./support/until.ts";

interface TestDatabase {
  readonly url: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
}

async function newDatabase(): Promise<TestDatabase> {
  const url = await createDatabase();
  const key = randomBytes(32).toString("base64");
  const rates = { instance_rate: "0", provisioner_rate: "0", reviewer_rate: "0" };
  return {
    url,
    settings: { database_url: url, secret_key: key, ...rates },
    env: { COUNTERSIGN_DATABASE_URL: url, COUNTERSIGN_SECRET_KEY: key },
  };
}

interface Logged {
  readonly server: TestProvider;
  readonly events: (name: string) => Record<string, unknown>[];
}

/** @param migrations of a later program; without them, it is this one */
async function start(t: TestContext, database: TestDatabase, migrations?: string): Promise<Logged> {
  const lines: string[] = [];
  const report = new Report("info", { write: (line) => void lines.push(line) });
  const parts = migrations === undefined ? { report } : { report, migrations };
  const server = await startTestProvider(t, { ...parts, settings: database.settings });
  const events = (name: string) =>
    lines.map((line) => JSON.parse(line)).filter(({ event }) => event === name);
  return { server, events };
}

async function openStore(t: TestContext, { url }: TestDatabase): Promise<PostgresStore> {
  const random = systemRandom();
  const store = await PostgresStore.open({ url, connectionsMax: 4, acceptsLoss: false, random });
  t.after(() => store.close());
  return store;
}

/** Each of two servers decides what the other was asked, while it holds the poll for it. */
async function assertBothServe(one: TestProvider, two: TestProvider): Promise<void> {
  const project = "both";
  const reviewer = await one.token({ kind: "reviewer", project });
  const { token } = await two.instance(project);
  for (const [submitting, decides] of [
    [one, two],
    [two, one],
  ] as const) {
    const { id } = await submitting.submit(token);
    const { answer } = await startLongPoll(submitting, token, id);
    const decided = await decides.decide(reviewer, id, "approve", { note: "seen" });
    assert.equal(decided.status, 200, decided.text);
    assert.deepEqual((await answer).json, await decides.read(token, id));
  }
}

test("[ours.migrate.rolling] programs before and after an additive migration serve one database", async (t) => {
  const database = await newDatabase();
  const old = await start(t, database);
  const { token } = await old.server.instance();
  const before = await old.server.submit(token);
  const later = await start(t, database, laterMigrations(t, ADDITIVE));
  assert.deepEqual(await later.server.read(token, before.id), before);
  await assertBothServe(old.server, later.server);
  const versions = { schema_version: KNOWN + 1, schema_known: KNOWN };
  await until(() => old.events("schema.newer").length > 0, "the old one sees the migration");
  for (const [key, value] of Object.entries(versions)) {
    assert.equal(old.events("schema.newer")[0]?.[key], value);
  }
  assert.equal((await fetch(`${old.server.url}/readyz`)).status, 200);
  assert.deepEqual(later.events("schema.newer"), []);
});

test("[ours.migrate.rolling] the audit log state that a program of schema 14 writes is valid for this one", async (t) => {
  const database = await newDatabase();
  const { server } = await start(t, database);
  const store = await openStore(t, database);
  await store.transact(async (tx) => {
    await tx.run(
      `insert into audit_log (project_id, origin, public_key, encrypted_private_key, size, frontier,
         sealed_id, checkpoint, sealed_at, rescan_started_at, full_scan_at, full_scan_id)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10, '')`,
      ["old", "origin", "AA", "sealed", 0, "", "", "", 0, Date.now()],
    );
  });
  const { context } = server.provider;
  // Such a program does not record the end of a scan: this one scans everything.
  const rescan = (await claimRescans(context)).find(({ projectId }) => projectId === "old");
  assert.ok(rescan);
  assert.equal(rescan.range.after, firstIdAt(0));
  await recordRescan(context, rescan);
  const row = await store.get(
    "select rescan_started_at, rescanned_at from audit_log where project_id = $1",
    ["old"],
  );
  assert.equal(row?.rescanned_at, row?.rescan_started_at);
});

test("[ours.migrate.rolling] an update that a program of schema 17 accepted is superseded by a later one here", async (t) => {
  const database = await newDatabase();
  const { server } = await start(t, database);
  const store = await openStore(t, database);
  const { provisioner, id } = await server.instance();
  const row = await store.get("select project_id from instance where id = $1", [id]);
  await store.transact(async (tx) => {
    await tx.run(
      `insert into verification
         (project_id, scope, key_hash, fingerprint, instance_id, fence, lease_until, updated_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [row?.project_id ?? null, "update:other", "k", "f", id, 1, Date.now(), Date.now()],
    );
  });
  await server.call("PATCH", `/v1/instances/${id}`, {
    token: provisioner,
    key: server.freshKey(),
    body: { delivery: null },
  });
  const left = await store.get("select superseded_at from verification where key_hash = 'k'");
  assert.notEqual(left?.superseded_at ?? null, null);
});

test("[ours.migrate.rolling] a program of schema 19 counts the calls of a tool that this one stores", async (t) => {
  const database = await newDatabase();
  const { server } = await start(t, database);
  const store = await openStore(t, database);
  const { token, id } = await server.instance();
  for (const tool of ["pay", "pay", "read"]) await server.submit(token, { tool });
  const row = await store.get(
    `select count(*) as calls, sum(case when status = 'pending' then 1 else 0 end) as pending
     from request where project_id = (select project_id from instance where id = $1)
       and instance_id = $1 and created_at > $2 and substr(tool, 1, 200) = $3`,
    [id, 0, '"pay"'],
  );
  assert.deepEqual([Number(row?.calls), Number(row?.pending)], [2, 2]);
});

test("[ours.migrate.rolling] a program of schema 21 stores requests without steps, and decides those with steps", async (t) => {
  const database = await newDatabase();
  const { server } = await start(t, database);
  const store = await openStore(t, database);
  const { token } = await server.instance();
  const rule = `{ id: all, then: ask,
      ask: { from: group:dev, escalate: [{ after: 30m, to: group:leads }] } }`;
  await enforce(server, policyOf(rule));
  const { id } = await server.submit(token, { timeout: "1h" });
  const row = await store.get("select * from request where id = $1", [id]);
  assert.notEqual(row?.escalates_at ?? null, null);
  const integrity = server.provider.context.store.integrity;
  const { escalates_at: _, ...columns }: Row = { ...row };
  const copyId = randomUUID();
  const old: Row = { ...columns, id: copyId, key_hash: "k" };
  const copy = { ...old, ...authenticateRow(integrity, old) };
  const ended = { ...row, status: "denied", decided_at: Date.now(), decided_by: "reviewer:x" };
  const { mac } = authenticateRow(integrity, ended);
  await store.transact(async (tx) => {
    const places = Object.keys(copy).map((_, i) => `$${i + 1}`);
    const names = Object.keys(copy).join(", ");
    const sql = `insert into request (${names}) values (${places.join(", ")})`;
    await tx.run(sql, Object.values(copy));
    await tx.run(
      "update request set status = $2, decided_at = $3, decided_by = $4, mac = $5 where id = $1",
      [id, ended.status, ended.decided_at, ended.decided_by, mac],
    );
  });
  assert.equal((await server.read(token, copyId)).status, "pending");
  assert.equal((await server.read(token, id)).status, "denied");
  const due = await readDueEscalations(store, Date.now() + 3_000_000, 10);
  assert.deepEqual(due, [], "the worker finds neither");
});

test("[ours.migrate.rolling] a program of schema 30 stores requests without a trace, and decides those with one", async (t) => {
  const database = await newDatabase();
  const { server } = await start(t, database);
  const store = await openStore(t, database);
  const { token } = await server.instance();
  const { id } = await server.submit(token);
  const row = await store.get("select * from request where id = $1", [id]);
  const { traceparent: _, ...columns }: Row = { ...row };
  const integrity = server.provider.context.store.integrity;
  const old: Row = { ...columns, id: randomUUID(), key_hash: "k" };
  const copy = { ...old, ...authenticateRow(integrity, old) };
  const names = Object.keys(copy);
  const places = names.map((_, i) => `$${i + 1}`);
  const sql = `insert into request (${names.join(", ")}) values (${places.join(", ")})`;
  await store.transact(async (tx) => {
    await tx.run(sql, Object.values(copy));
    await tx.run("update request set traceparent = 'a text' where id = $1", [id]);
  });
  const reviewer = await server.token({ kind: "reviewer" });
  for (const each of [String(old.id), id]) {
    assert.equal((await server.decide(reviewer, each, "approve")).status, 200);
  }
});

test("[ours.migrate.rolling] a session that a program of schema 34 starts is one of an unknown session at the provider", async (t) => {
  const database = await newDatabase();
  const { server } = await start(t, database);
  const store = await openStore(t, database);
  const person = await newPerson(server, { login: "ana" });
  await store.transact((tx) =>
    tx.run(
      `insert into session (token_hash, id, person_id, project_id, method, user_agent, created_at,
         seen_at, expires_at)
       select 'of the old program', 'of the old program', person_id, project_id, 'oidc', user_agent,
         created_at, seen_at, expires_at from session`,
    ),
  );
  const sessions = await listSessions(store, person.id);
  const old = sessions.find(({ id }) => id === "of the old program");
  assert.ok(old !== undefined);
  assert.equal(endsSession({ hash: "any", issuedAt: 0 }, old), true);
});

test("[ours.migrate.rolling] a program of schema 34 purges the instance of a workload", async (t) => {
  const database = await newDatabase();
  const { server } = await start(t, database);
  const store = await openStore(t, database);
  const { id } = await server.instance();
  await store.transact(async (tx) => {
    await tx.run(
      `insert into workload_instance
       select project_id, 'b', id, 'ci', 'https://issuer.example', '{}', 0
       from instance where id = $1`,
      [id],
    );
    await tx.run("delete from idempotency where instance_id = $1", [id]);
    await tx.run("delete from credential where holder_id = $1", [id]);
    await tx.run("delete from instance where id = $1", [id]);
  });
  assert.deepEqual(await store.all("select binding from workload_instance"), []);
});

test("[ours.migrate.rolling] a program starts on a newer schema that it can use, and says so; commands as well", async (t) => {
  const database = await newDatabase();
  const later = await start(t, database, laterMigrations(t, ADDITIVE));
  const old = await start(t, database);
  assert.equal(old.events("schema.newer")[0]?.schema_known, KNOWN);
  await assertBothServe(old.server, later.server);
  const config = readConfig({ ...database.settings }, {});
  await (await openContext(toSettings(config), toSecrets(config))).close();
  const { code, stdout } = await countersign(t, ["migrate", "--check"], { env: database.env });
  assert.equal(code, 0);
  assert.match(stdout, new RegExp(`has schema ${KNOWN + 1}, this program needs ${KNOWN} and can`));
});

test("[ours.migrate.breaking] replicas that cannot go on end themselves before the migration is made, and lose nothing", async (t) => {
  const database = await newDatabase();
  const replicas = [await start(t, database), await start(t, database)];
  const [first] = replicas as [Logged, Logged];
  const { token } = await first.server.instance();
  const kept = await first.server.submit(token);
  const { answer: poll } = await startLongPoll(first.server, token, kept.id);
  const created = new Set([kept.id]);
  const sending = replicas.map(async ({ server }, n) => {
    for (let i = 0; ; i++) {
      try {
        const answer = await submitBody(server, token, SUBMISSION, `${n} ${i}`);
        assert.ok(answer.status === 201 || answer.status === 503, answer.text);
        if (answer.status === 201) created.add(answer.json.id);
      } catch (error) {
        // It listens no more.
        if (error instanceof TypeError) return;
        throw error;
      }
    }
  });

  const migrations = laterMigrations(t, ADDITIVE, BREAKING);
  const [store, clock] = [await openStore(t, database), new ManualClock()];
  const migrating = migrate(store, readMigrations(migrations), clock);
  for (const { server, events } of replicas) {
    const reason = await server.provider.closed;
    assert.ok(reason instanceof Failure);
    assert.match(
      reason.message,
      /is being migrated to schema \d+; .* use a newer version of countersign/,
    );
    assert.equal(events("schema.outgrown").length, 1);
  }
  assert.equal((await poll).json.status, "pending");
  await Promise.all(sending);
  const announced = { version: KNOWN, oldestProgram: KNOWN + 2 };
  assert.deepEqual(await readSchemaVersion(store), announced);
  clock.advance(60_000);
  assert.deepEqual(await migrating, { version: KNOWN + 2, oldestProgram: KNOWN + 2 });

  const { server } = await start(t, database, migrations);
  assert.ok(created.size > 1);
  for (const id of created) assert.equal((await server.read(token, id)).status, "pending");
});

test("[ours.migrate.breaking] an incompatible program does not start, also between announcement and migration", async (t) => {
  const database = await newDatabase();
  await (await start(t, database)).server.stop();
  const migrations = readMigrations(laterMigrations(t, BREAKING));
  const [store, clock] = [await openStore(t, database), new ManualClock()];
  const abandoned = await openStore(t, database);
  const failing = assert.rejects(migrate(abandoned, migrations, clock), Failure);
  const isAnnounced = async () => (await readSchemaVersion(store)).oldestProgram > KNOWN;
  await until(isAnnounced, "the migration is announced");
  // The process that announced it dies: the next one goes on, after the same notice.
  await abandoned.close();
  await assert.rejects(
    start(t, database),
    /is being migrated to schema .* use a newer version of countersign/,
  );
  clock.advance(60_000);
  await failing;
  assert.equal((await readSchemaVersion(store)).version, KNOWN);
  const migrating = migrate(store, migrations, clock);
  await until(() => clock.pending > 0, "it gives notice");
  clock.advance(60_000);
  await migrating;
  await assert.rejects(start(t, database), /has schema \d+, .* use a newer version of countersign/);
  const check = await countersign(t, ["migrate", "--check"], { env: database.env });
  assert.equal(check.code, 1);
  assert.match(check.stdout, /cannot use it: use a newer version of countersign/);
  const migrated = await countersign(t, ["migrate"], { env: database.env });
  assert.equal(migrated.code, 1);
  assert.match(
    migrated.stderr,
    /^countersign: the database has schema .*newer version of countersign\n$/,
  );
});

test("[ours.migrate.breaking] [ours.cli.exit-codes] a process that ends itself says why, with exit code 1", async (t) => {
  const database = await newDatabase();
  const server = await startServer(t, { env: database.env });
  const store = await openStore(t, database);
  const clock = new ManualClock();
  const migrating = migrate(store, readMigrations(laterMigrations(t, BREAKING)), clock);
  const { code, stdout, stderr } = await server.process.ends();
  assert.equal(code, 1);
  assert.match(
    stderr,
    /is being migrated to schema \d+; .* use a newer version of countersign"\}\}\n$/,
  );
  assert.match(stdout, /"server\.stopped"/);
  clock.advance(60_000);
  await migrating;
});
