import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { exchange } from "@countersign/testing/agents";
import { temporaryFolder } from "@countersign/testing/child";
import {
  countersign,
  type Server,
  spawnCountersign,
  startServer,
} from "@countersign/testing/countersign";
import { createDatabase } from "./support/postgres.ts";

interface TestDatabase {
  readonly env: Readonly<Record<string, string>>;
  readonly url: string;
  readonly data: string;
}

async function newDatabase(t: TestContext): Promise<TestDatabase> {
  const url = await createDatabase();
  const data = join(temporaryFolder(t), "data");
  const key = randomBytes(32).toString("base64");
  return { url, data, env: { COUNTERSIGN_DATABASE_URL: url, COUNTERSIGN_SECRET_KEY: key } };
}

function statusOf({ url }: Server, token: string): Promise<number> {
  return exchange("GET", `${url}/review/v1/requests`, token).then(({ status }) => status);
}

test("[ours.cli.token-alone] tokens are made, listed and revoked beside replicas, at once for all of them", async (t) => {
  const { env, data } = await newDatabase(t);
  const servers = [await startServer(t, { env }), await startServer(t, { env })];
  const tokens = async (...args: string[]) => {
    const outcome = await countersign(t, ["tokens", ...args, "--data", data], { env });
    assert.deepEqual([outcome.code, outcome.stderr], [0, ""]);
    return outcome.stdout.trim();
  };
  const token = await tokens("create", "reviewer", "--name", "ana");
  for (const server of servers) assert.equal(await statusOf(server, token), 200);
  const listed = await tokens("list");
  assert.match(listed, /ana/);
  const id = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(listed)?.[0] ?? "";
  await tokens("revoke", id);
  for (const server of servers) assert.equal(await statusOf(server, token), 401);
  assert.equal(existsSync(data), false, "a command created a data folder that it does not need");
  for (const server of servers) await server.stop();
});

test("[ours.operations.first-start] the first start creates its tables and no data folder, and says that commands need its variables", async (t) => {
  const { env, url, data } = await newDatabase(t);
  const { COUNTERSIGN_SECRET_KEY } = env as { COUNTERSIGN_SECRET_KEY: string };
  const words = ["serve", "--port", "0", "--data", data, "--database-url", url];
  const child = spawnCountersign(t, words, { env: { COUNTERSIGN_SECRET_KEY } });
  await child.prints("stderr", / is serving http\S+ \(created its tables at database_url\)/);
  await child.prints("stderr", /in another terminal .* with the same COUNTERSIGN_ variables:\n/);
  await child.prints("stderr", /countersign init\n/);
  assert.equal(existsSync(data), false);
  assert.equal((await child.end("SIGTERM")).code, 0);
});

test("[ours.cli.exit-codes] a command for the file database fails with exit code 1, and so does a start without its settings", async (t) => {
  const { env, data } = await newDatabase(t);
  const { COUNTERSIGN_SECRET_KEY: key, ...without } = env;
  assert.ok(key !== undefined);
  const away = { ...env, COUNTERSIGN_DATABASE_URL: "postgres://me:s3cret@127.0.0.1:1/nothing" };
  const cases = [
    { args: ["backup", join(data, "copy.db")], env, says: /copy database_url with pg_dump/ },
    { args: ["secret-key", "rotate"], env, says: /COUNTERSIGN_SECRET_KEY_PREVIOUS/ },
    { args: ["serve", "--port", "0"], env: without, says: /create one first: openssl rand/ },
    { args: ["serve", "--port", "0"], env: away, says: /cannot be used: connect ECONNREFUSED/ },
  ];
  for (const { args, env: given, says } of cases) {
    const outcome = await countersign(t, [...args, "--data", data], { env: given });
    assert.equal(outcome.code, 1, outcome.stderr);
    assert.match(outcome.stderr, says);
    assert.doesNotMatch(outcome.stderr, /s3cret|\n.*\n/);
  }
});
