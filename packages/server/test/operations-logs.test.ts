// Needs: prlimit
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Agent, exchange, makeToken, provision } from "@countersign/testing/agents";
import { type Outcome, temporaryFolder } from "@countersign/testing/child";
import { countersign, type Server, startServer } from "@countersign/testing/countersign";
import { RawConnection } from "@countersign/testing/raw-connection";
import { databaseEnvironment } from "./support/engine.ts";
import { execute } from "./support/postgres.ts";

/** Marks every private field of an exchange. */
const MARK = "Xyzzy7Plugh";

const MARKED = {
  arguments: { [`${MARK}-key`]: [`${MARK}-value`] },
  agent_reasoning: `${MARK}-reasoning`,
  context: { repository: `${MARK}-context` },
};

interface Line {
  readonly event: string;
  readonly request_id?: string;
  readonly http_status?: number;
  readonly operation?: string;
  readonly credential_id?: string;
  readonly subject_id?: string;
  readonly error_code?: string;
}

function linesOf({ stdout }: Outcome): Line[] {
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}

/** A server that says as much as it can. */
async function outspoken(t: TestContext): Promise<{ server: Server; secretKey: string }> {
  const secretKey = randomBytes(32).toString("base64");
  const server = await startServer(t, {
    args: ["--log-level", "debug"],
    env: {
      ...(await databaseEnvironment()),
      COUNTERSIGN_SECRET_KEY: secretKey,
      COUNTERSIGN_TOKEN: `${MARK}-token`,
    },
  });
  return { server, secretKey };
}

async function makeTokenWith(
  t: TestContext,
  server: Server,
  secretKey: string,
  kind: "provisioner" | "reviewer",
): Promise<string> {
  const args = ["tokens", "create", kind, "--name", "me", "--data", server.data];
  const env = { ...server.env, COUNTERSIGN_SECRET_KEY: secretKey };
  const { code, stdout, stderr } = await countersign(t, args, { env });
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

function assertSilentAbout({ stdout, stderr }: Outcome, secrets: readonly string[]): void {
  for (const secret of secrets) {
    assert.equal(stdout.includes(secret), false, `the log holds ${secret}`);
    assert.equal(stderr.includes(secret), false, `stderr holds ${secret}`);
  }
}

async function sendRefused(url: string, agent: Agent): Promise<void> {
  const body = JSON.stringify({ ...MARKED, tool: "t", timeout: "1h" });
  const posts = [
    `{"${MARK}":`,
    `{"${MARK}":1,"${MARK}":2}`,
    `{"tool":"t","arguments":{},"timeout":"1h","${MARK}":1}`,
    `{"tool":"t","arguments":{},"timeout":"${MARK}"}`,
    `["${MARK}"]`,
  ];
  for (const post of posts) {
    await exchange("POST", `${url}/v1/requests`, agent.token, post, `${MARK}-refused`);
  }
  // Refused before it has arrived: the client may see the connection close and not the answer.
  const huge = `{"${MARK}":"${"x".repeat(1_100_000)}"}`;
  await exchange("POST", `${url}/v1/requests`, agent.token, huge, `${MARK}-huge`).catch(() => {});
  await exchange("POST", `${url}/v1/requests`, agent.token, body);
  await exchange("POST", `${url}/v1/requests`, agent.token, body, MARK.repeat(200));
  for (const token of [MARK, `cs_inst_${MARK}`, `${agent.token.slice(0, -6)}${MARK}`]) {
    await exchange("GET", `${url}/v1/requests/${MARK}`, token);
  }
  for (const path of [
    `/${MARK}`,
    `/v1/requests/${MARK}?wait=${MARK}`,
    `/%zz${MARK}`,
    `/?${MARK}`,
  ]) {
    for (const method of ["GET", "DELETE", "PUT"]) await exchange(method, url + path, agent.token);
  }
}

async function sendMalformed(t: TestContext, url: string): Promise<void> {
  const heads = [
    `${MARK} / HTTP/1.1\r\n\r\n`,
    `GET /${MARK} HTTP/9.9\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: localhost\r\n${MARK} : broken\u0000\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: localhost\r\nX-${MARK}: ${"x".repeat(20_000)}\r\n\r\n`,
    `GET /${MARK} HTTP/1.1\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic ${MARK}\r\n\r\n`,
  ];
  for (const head of heads) {
    const connection = await RawConnection.open(t, url);
    connection.send(head);
    await connection.receives(/^HTTP\/1\.1 4\d\d /);
  }
}

/** From here on nothing can be written. */
async function takeStore({ process, env }: Server): Promise<void> {
  const { COUNTERSIGN_DATABASE_URL: database } = env;
  if (database === undefined) {
    execFileSync("prlimit", ["--pid", String(process.pid), "--fsize=0:"]);
    return;
  }
  const url = new URL(database);
  const name = url.pathname.slice(1);
  url.pathname = "/postgres";
  await execute(
    url.href,
    `alter database ${name} allow_connections false`,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
  );
}

test("[ours.operations.logs] valid and invalid calls log no argument, reasoning, context, note, key, path or secret", async (t) => {
  const { server, secretKey } = await outspoken(t);
  const provisioner = await makeTokenWith(t, server, secretKey, "provisioner");
  const reviewer = await makeTokenWith(t, server, secretKey, "reviewer");
  const { credential } = await provision(server, provisioner, `${MARK}-provisioning`);
  const agent = new Agent(server.url, credential.token);
  const secrets = [MARK, secretKey, provisioner, reviewer, credential.token];

  const { json, status } = await agent.post(`${MARK}-create`, MARKED);
  assert.equal(status, 201);
  assert.equal((await agent.post(`${MARK}-create`, MARKED)).status, 200);
  assert.equal((await agent.post(`${MARK}-create`)).status, 409);
  const env = { COUNTERSIGN_TOKEN: reviewer };
  const deny = ["requests", "deny", json.id, "--note", `${MARK}-note`, "--url", server.url];
  assert.equal((await countersign(t, deny, { env })).code, 0);
  await sendRefused(server.url, agent);
  await sendMalformed(t, server.url);
  await takeStore(server);
  assert.equal((await agent.post(`${MARK}-no-room`, MARKED)).status, 503);

  const outcome = await server.stop();
  assertSilentAbout(outcome, secrets);
  const statuses = new Set(linesOf(outcome).map((line) => line.http_status));
  for (const each of [200, 201, 400, 401, 404, 405, 409, 503])
    assert.ok(statuses.has(each), `${each}`);
});

test("[ours.operations.logs] an exchange is one line with what helps: its id, operation, status, credential and subject", async (t) => {
  const server = await startServer(t, { env: await databaseEnvironment() });
  const provisioner = await makeToken(server.data, { kind: "provisioner" }, server.env);
  const { credential } = await provision(server, provisioner);
  const agent = new Agent(server.url, credential.token);
  const answer = await agent.post("one");
  const missing = await exchange("GET", `${server.url}/v1/nothing`, credential.token);

  const lines = linesOf(await server.stop());
  const of = ({ headers }: { headers: Headers }): Line[] =>
    lines.filter((line) => line.request_id === headers.get("x-request-id"));
  const [created, ...more] = of(answer);
  assert.equal(more.length, 0);
  assert.equal(created?.event, "exchange.ended");
  assert.equal(created.operation, "createApprovalRequest");
  assert.equal(created.http_status, 201);
  assert.equal(created.subject_id, answer.json.id);
  assert.match(created.credential_id ?? "", /^[0-9a-f-]{36}$/);
  assert.equal(of(missing)[0]?.error_code, "not_found");
});

test("[ours.operations.logs] a secret that is malformed stops the start and is not repeated", async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, "countersign.yaml");
  writeFileSync(file, `secret_key: ${MARK}\n`, { mode: 0o600 });
  const data = join(folder, "data");
  mkdirSync(data);
  writeFileSync(join(data, "secret.key"), MARK, { mode: 0o600 });
  const starts = [
    { args: ["--data", join(folder, "one")], env: { COUNTERSIGN_SECRET_KEY: MARK }, ends: 2 },
    { args: ["--data", join(folder, "two"), "--config", file], env: {}, ends: 2 },
    { args: ["--data", data], env: {}, ends: 1 },
  ];
  for (const { args, env, ends } of starts) {
    const outcome = await countersign(t, ["serve", "--port", "0", ...args], { env });
    assert.equal(outcome.code, ends);
    assert.match(outcome.stderr, /must be 32 bytes in base64\n$/);
    assertSilentAbout(outcome, [MARK]);
  }
});
