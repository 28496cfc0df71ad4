// Tier: slow
/**
 * Server processes that seal concurrently and are killed while they do, and the log after a
 * rotation of the secret key and a move to PostgreSQL. These tests set their own storage engines.
 */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { ApprovalRequest } from "@countersign/protocol";
import { Agent, makeToken, provision, SUBMISSION } from "@countersign/testing/agents";
import { temporaryFolder } from "@countersign/testing/child";
import { countersign, type Server, startServer } from "@countersign/testing/countersign";
import { withStore } from "@countersign/testing/deliveries";
import { eventually } from "@countersign/testing/eventually";
import { assertAllOnce, untilAllSealed } from "./support/audit-logs.ts";
import * as clusters from "./support/cluster.ts";
import { copyOf, decide, makeSource, newTarget, runImport } from "./support/imports.ts";

const ARGS = ["--instance-rate", "0", "--reviewer-rate", "0", "--webhooks-off"];

type Environment = Readonly<Record<string, string>>;

/** By the command, as an operator runs it. */
async function assertVerifies(
  t: TestContext,
  place: { readonly data?: string; readonly env?: Environment },
  ...more: readonly string[]
): Promise<void> {
  const data = place.data === undefined ? [] : ["--data", place.data];
  const words = ["audit", "verify", ...data, ...more];
  const { code, stdout, stderr } = await countersign(t, words, { env: place.env ?? {} });
  assert.equal(code, 0, stdout + stderr);
}

async function keepCheckpoint(
  t: TestContext,
  place: { readonly data?: string; readonly env?: Environment },
): Promise<string> {
  const data = place.data === undefined ? [] : ["--data", place.data];
  const words = ["audit", "checkpoint", ...data];
  const { code, stdout, stderr } = await countersign(t, words, { env: place.env ?? {} });
  assert.equal(code, 0, stderr);
  const file = join(temporaryFolder(t), "checkpoint");
  writeFileSync(file, stdout);
  return file;
}

test("[ours.audit.crash] [ours.audit.sealed] three replicas that seal under load, and are killed one after another, seal every entry once", async (t) => {
  const cluster = await clusters.startCluster(t, 3, { args: ["--webhooks-off"] });
  const { token } = await clusters.provision(cluster, await cluster.token("provisioner"));
  let isOver = false;
  let done = 0;
  const load = Array.from({ length: 8 }, async (_, caller) => {
    for (let n = 0; !isOver; n++) {
      const key = `${caller} ${n}`;
      const { id } = (
        await clusters.send<ApprovalRequest>(
          cluster,
          n,
          "POST",
          "/v1/requests",
          token,
          SUBMISSION,
          key,
        )
      ).json;
      await clusters.send(cluster, n + 1, "DELETE", `/v1/requests/${id}`, token);
      done++;
    }
  });
  const isSealing = async () => {
    const row = await cluster.store.get("select max(size) as n from audit_log");
    return Number(row?.n);
  };
  for (let kill = 0; kill < 6; kill++) {
    const before = await isSealing();
    await eventually("sealing goes on", async () => (await isSealing()) > before || undefined);
    await cluster.servers[kill % 3]?.kill();
    await cluster.start(kill % 3);
  }
  isOver = true;
  await Promise.all(load);
  assert.ok(done > 100, `${done} requests`);
  await untilAllSealed(cluster.store);
  await assertAllOnce(cluster.store);
  const [server] = cluster.servers;
  assert.ok(server);
  await assertVerifies(t, { env: server.env });
});

async function submit(server: Server, agent: Agent, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const { id } = (await agent.at(server).post(crypto.randomUUID(), SUBMISSION)).json;
    await agent.at(server).cancel(id);
  }
}

test("[ours.audit.crash] on SQLite, a repeatedly killed server continues its log", async (t) => {
  const data = join(temporaryFolder(t), "data");
  let server = await startServer(t, { data, args: ARGS });
  const { credential } = await provision(server, await makeToken(data, { kind: "provisioner" }));
  const agent = new Agent(server.url, credential.token);
  await submit(server, agent, 20);
  await withStore(server, untilAllSealed);
  const checkpoint = await keepCheckpoint(t, { data });
  for (let kill = 0; kill < 3; kill++) {
    await submit(server, agent, 60);
    await server.kill();
    server = await startServer(t, { data, args: ARGS });
  }
  await withStore(server, async (store) => {
    await untilAllSealed(store);
    await assertAllOnce(store);
  });
  await assertVerifies(t, { data }, "--checkpoint", checkpoint);
});

test("[ours.audit.rotation] after a rotation of the secret key, the log continues with its own key", async (t) => {
  const data = join(temporaryFolder(t), "data");
  let server = await startServer(t, { data, args: ARGS });
  const { credential } = await provision(server, await makeToken(data, { kind: "provisioner" }));
  const agent = new Agent(server.url, credential.token);
  await submit(server, agent, 3);
  await withStore(server, untilAllSealed);
  const checkpoint = await keepCheckpoint(t, { data });
  const key = (await countersign(t, ["audit", "key", "--data", data])).stdout.trim();
  await server.stop();
  assert.equal((await countersign(t, ["secret-key", "rotate", "--data", data])).code, 0);
  writeFileSync(join(data, "secret.key.previous"), "");
  server = await startServer(t, { data, args: ARGS });
  await submit(server, agent, 3);
  await withStore(server, async (store) => {
    await untilAllSealed(store);
    const rotated = await store.all(
      "select project_id, detail from audit_entry where kind = 'secret_key.rotated'",
    );
    assert.equal(rotated.length, 1);
    assert.equal(rotated[0]?.project_id, "");
    assert.ok(JSON.parse(String(rotated[0]?.detail)).resealed > 0);
  });
  await assertVerifies(t, { data }, "--public-key", key, "--checkpoint", checkpoint);
  await assertVerifies(t, { data }, "--server");
});

test("[ours.audit.rotation] a log moved to PostgreSQL verifies against an earlier checkpoint, and continues", async (t) => {
  const source = await makeSource(t);
  const data = copyOf(source, t);
  let server = await startServer(t, { data, args: ARGS });
  // A row of the source that no server has published, which verification names.
  await withStore(server, (store) =>
    store.transact((tx) => tx.run("delete from policy_version where project_id = ''")),
  );
  await withStore(server, untilAllSealed);
  await server.stop();
  const checkpoint = await keepCheckpoint(t, { data });
  const target = await newTarget(source);
  const imported = await runImport(t, data, target);
  assert.equal(imported.code, 0, imported.stderr);
  await assertVerifies(t, { env: target.env }, "--checkpoint", checkpoint, "--project", "default");
  server = await startServer(t, { env: target.env, args: ARGS });
  const pending = source.requests.get("pending")?.id ?? "";
  await decide(server, source.reviewer, pending, "approve");
  await withStore(server, untilAllSealed);
  await assertVerifies(t, { env: target.env }, "--checkpoint", checkpoint, "--project", "default");
  await assertVerifies(t, { env: target.env }, "--server");
  const { stdout } = await countersign(t, ["audit", "export", "--server"], { env: target.env });
  assert.match(stdout, /"kind":"database\.imported"/);
});
