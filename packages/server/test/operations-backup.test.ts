import assert from "node:assert/strict";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { TestContext } from "node:test";
import type { ApprovalRequest } from "@countersign/protocol";
import { Agent, exchange, makeToken, newAgent, provision } from "@countersign/testing/agents";
import { type Owner, temporaryFolder } from "@countersign/testing/child";
import { countersign, type Server, startServer } from "@countersign/testing/countersign";
import { testOnly } from "./support/engine.ts";
import { until } from "./support/until.ts";

const test = testOnly("sqlite", "the command backup copies a file of SQLite");

async function backup(t: TestContext, server: Server): Promise<string> {
  const target = join(temporaryFolder(t), "copy.db");
  const outcome = await countersign(t, ["backup", target, "--data", server.data]);
  assert.equal(outcome.code, 0, outcome.stderr);
  assert.equal(outcome.stdout, `Copied ${server.database} to ${target}.\n`);
  assert.match(outcome.stderr, /^Keep a copy of .*secret\.key on another machine/);
  return target;
}

/** A new data folder with the copy and the secret key, as an operator restores it. */
async function serveFrom(owner: Owner, copy: string, secretKey: string): Promise<Server> {
  const data = join(temporaryFolder(owner), "data");
  mkdirSync(data);
  cpSync(copy, join(data, "countersign.db"));
  cpSync(secretKey, join(data, "secret.key"));
  return startServer(owner, { data });
}

test("[ours.operations.backup] a server on the copy knows every request, decision, key and credential of the moment", async (t) => {
  const server = await startServer(t);
  const provisioner = await makeToken(server.data, { kind: "provisioner" });
  const issued = await provision(server, provisioner, "the-key");
  const agent = new Agent(server.url, issued.credential.token);
  const env = { COUNTERSIGN_TOKEN: await makeToken(server.data, { kind: "reviewer" }) };
  const pending = (await agent.post("one", { arguments: { n: 1 } })).json;
  const { id } = (await agent.post("two", { arguments: { n: 2 } })).json;
  const approve = ["requests", "approve", id, "--yes", "--url", server.url];
  assert.equal((await countersign(t, approve, { env })).code, 0);
  const decided = await agent.read(id);

  const copy = await backup(t, server);
  const after = await agent.submit();
  const restored = await serveFrom(t, copy, join(server.data, "secret.key"));

  const again = agent.at(restored);
  assert.deepEqual(await again.read(pending.id), pending);
  assert.deepEqual(await again.read(decided.id), decided);
  const replay = await again.post("one", { arguments: { n: 1 } });
  assert.deepEqual([replay.status, replay.json], [200, pending]);
  assert.equal((await again.post("one", { arguments: { n: 3 } })).status, 409);
  assert.deepEqual(await provision(restored, provisioner, "the-key"), issued);
  // The copy has no later request, and the original goes on.
  assert.equal((await again.get(after.id)).status, 404);
  assert.deepEqual(await agent.read(after.id), after);
});

test("[ours.operations.backup] a copy made under load is consistent: it has everything acknowledged before it, and nothing partial", async (t) => {
  const server = await startServer(t, { args: ["--instance-rate", "0"] });
  const agent = await newAgent(server);
  const before: ApprovalRequest[] = [];
  const later: ApprovalRequest[] = [];
  let target = before;
  let copying = true;
  async function submit(): Promise<void> {
    while (copying) {
      const request = await agent.submit({ arguments: { filler: "x".repeat(3_000) } });
      target.push(request);
    }
  }
  const submitters = Array.from({ length: 8 }, submit);
  await agent.submit();
  target = later;
  const copy = await backup(t, server);
  copying = false;
  await Promise.all(submitters);

  const restored = agent.at(await serveFrom(t, copy, join(server.data, "secret.key")));
  for (const request of before) assert.deepEqual(await restored.read(request.id), request);
  for (const request of later) {
    const answer = await restored.get(request.id);
    assert.ok(answer.status === 404 || answer.status === 200, answer.text);
    if (answer.status === 200) assert.deepEqual(answer.json, request);
    assert.deepEqual(await agent.read(request.id), request);
  }
  assert.notEqual(later.length, 0, "nothing was submitted beside the copying");
});

test("[ours.operations.backup] without a running server, and with a log left by a crash, the copy is whole", async (t) => {
  const server = await startServer(t);
  const agent = await newAgent(server);
  const request = await agent.submit();
  await server.kill();
  assert.ok(existsSync(`${server.database}-wal`), "the crash has left no log");

  const copy = await backup(t, server);

  const restored = await serveFrom(t, copy, join(server.data, "secret.key"));
  assert.deepEqual(await agent.at(restored).read(request.id), request);
});

/** Lines of `/metrics` with this name. */
async function sampleOf(server: Server, name: string): Promise<number> {
  const { text } = await exchange("GET", `${server.url}/metrics`);
  const [, value] = new RegExp(`^${name} (.+)$`, "m").exec(text) ?? assert.fail(`no ${name}`);
  return Number(value);
}

test("[ours.operations.backup] the metrics have the time of the last complete backup", async (t) => {
  const server = await startServer(t);
  const name = "countersign_last_backup_timestamp_seconds";
  assert.equal(await sampleOf(server, name), 0);
  const from = Math.floor(Date.now() / 1000);
  await backup(t, server);
  const first = await sampleOf(server, name);
  assert.ok(first >= from && first <= Date.now() / 1000, `${first}`);

  const failed = join(temporaryFolder(t), "missing", "copy.db");
  assert.equal((await countersign(t, ["backup", failed, "--data", server.data])).code, 1);
  assert.equal(await sampleOf(server, name), first);
});

async function sealedServer(t: TestContext): Promise<{ server: Server; id: string }> {
  const server = await startServer(t);
  const agent = await newAgent(server);
  const { id } = await agent.submit({ arguments: { amount: 10 } });
  const verify = ["audit", "verify", "--project", "default", "--data", server.data];
  await until(async () => {
    const { stdout } = await countersign(t, verify);
    return stdout.includes("verified") && !stdout.includes("not sealed yet");
  }, "all entries are sealed");
  return { server, id };
}

function verifyBackup(t: TestContext, copy: string, data: string) {
  return countersign(t, ["audit", "verify", "--backup", copy, "--data", data]);
}

test("[ours.operations.restore-drill] audit verify restores a backup beside it, verifies it, and leaves nothing", async (t) => {
  const { server } = await sealedServer(t);
  const copy = await backup(t, server);
  const before = readFileSync(copy);
  const { code, stdout, stderr } = await verifyBackup(t, copy, server.data);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^project default: \d+ entries verified, root /m);
  assert.deepEqual(readdirSync(dirname(copy)), ["copy.db"]);
  assert.deepEqual(readFileSync(copy), before);
});

test("[ours.operations.restore-drill] a value changed inside a row of the backup is found", async (t) => {
  const { server, id } = await sealedServer(t);
  const copy = await backup(t, server);
  const database = new DatabaseSync(copy);
  database.prepare("update request set arguments = ? where id = ?").run('{"amount":99}', id);
  database.close();
  const { code, stdout } = await verifyBackup(t, copy, server.data);
  assert.equal(code, 1);
  assert.match(stdout, new RegExp(`^altered: project default: .*request ${id}`));
});

test("[ours.operations.restore-drill] a missing file, a file of another kind, and a missing or wrong secret key are refused", async (t) => {
  const { server } = await sealedServer(t);
  const copy = await backup(t, server);
  const other = await startServer(t);
  const noKey = temporaryFolder(t);
  const text = join(temporaryFolder(t), "text.db");
  writeFileSync(text, "not a database, but long enough to be read as the header of one".repeat(20));
  const cases = [
    { file: join(noKey, "none.db"), data: server.data, code: 2, says: /does not exist/ },
    { file: text, data: server.data, code: 1, says: /damaged|not a database/ },
    { file: copy, data: noKey, code: 1, says: /the secret key is missing in/ },
    { file: copy, data: other.data, code: 1, says: /encrypted with key \w+, but the/ },
  ];
  for (const { file, data, code, says } of cases) {
    const outcome = await verifyBackup(t, file, data);
    assert.deepEqual([outcome.code, outcome.stdout], [code, ""], file);
    assert.match(outcome.stderr, says);
  }
  assert.deepEqual(readdirSync(dirname(copy)), ["copy.db"]);
});

test("[ours.operations.compact] the file of a stopped server shrinks after rows were deleted, and nothing else changes", async (t) => {
  const server = await startServer(t);
  const agent = await newAgent(server);
  const kept = await agent.submit({ arguments: { filler: "x".repeat(200_000) } });
  const running = await countersign(t, ["compact", "--data", server.data]);
  assert.equal(running.code, 1);
  assert.match(running.stderr, /another server is running/);
  await server.stop();

  const database = new DatabaseSync(server.database);
  database.exec("create table filler (bytes blob)");
  const insert = database.prepare("insert into filler values (zeroblob(1000000))");
  for (let n = 0; n < 5; n++) insert.run();
  database.exec("drop table filler");
  database.close();
  const before = statSync(server.database).size;
  const { code, stdout, stderr } = await countersign(t, ["compact", "--data", server.data]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^Compacted the database from \d+\.\d MB to \d+\.\d MB\.\n$/);
  const after = statSync(server.database).size;
  assert.ok(before - after >= 5_000_000, `${before} to ${after}`);
  const verified = await countersign(t, ["audit", "verify", "--data", server.data]);
  assert.equal(verified.code, 0, verified.stdout + verified.stderr);

  const again = await startServer(t, { data: server.data });
  assert.deepEqual(await agent.at(again).read(kept.id), kept);
});

test("[ours.operations.backup] an existing file is not overwritten", async (t) => {
  const server = await startServer(t);
  const target = join(temporaryFolder(t), "copy.db");
  writeFileSync(target, "mine");
  const outcome = await countersign(t, ["backup", target, "--data", server.data]);
  assert.deepEqual([outcome.code, outcome.stdout], [1, ""]);
  assert.equal(outcome.stderr, `countersign: ${target} exists already\n`);
  assert.equal(readFileSync(target, "utf8"), "mine");
});

test("[ours.operations.backup] a folder without a database, or an invalid path, prints one line", async (t) => {
  const data = temporaryFolder(t);
  const nothing = await countersign(t, ["backup", join(data, "copy.db"), "--data", data]);
  assert.equal(nothing.code, 1);
  assert.equal(nothing.stderr, `countersign: no database found in ${data}\n`);
  const server = await startServer(t);
  const nowhere = join(data, "nowhere", "copy.db");
  const outcome = await countersign(t, ["backup", nowhere, "--data", server.data]);
  assert.equal(outcome.code, 1);
  assert.match(outcome.stderr, /^countersign: the backup failed: [^\n]+\n$/);
});

test("[ours.operations.backup] the copy is readable by its owner only", async (t) => {
  const copy = await backup(t, await startServer(t));
  assert.equal(statSync(copy).mode & 0o777, 0o600);
});

test("[ours.operations.backup] the copy does not serve with another secret key, and holds no key of its own", async (t) => {
  const server = await startServer(t);
  const provisioner = await makeToken(server.data, { kind: "provisioner" });
  const { credential } = await provision(server, provisioner);
  const copy = await backup(t, server);
  const secretKey = readFileSync(join(server.data, "secret.key"), "utf8").trim();
  const bytes = readFileSync(copy);
  for (const secret of [secretKey, credential.token, provisioner]) {
    assert.equal(bytes.includes(secret), false);
    assert.equal(bytes.includes(Buffer.from(secret, "base64")), false);
  }
  const other = await startServer(t);
  await assert.rejects(
    serveFrom(t, copy, join(other.data, "secret.key")),
    /differs from the key of this database/,
  );
  assert.equal((await exchange("GET", `${other.url}/readyz`)).status, 200);
});
