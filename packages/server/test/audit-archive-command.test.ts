// Tier: slow
/**
 * `countersign audit archive` as an operator runs it: beside a running server, killed, after a
 * backup and after a move to PostgreSQL. This test sets its own storage engines.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { Agent, makeToken, provision, SUBMISSION } from "@countersign/testing/agents";
import { temporaryFolder } from "@countersign/testing/child";
import {
  countersign,
  type Server,
  spawnCountersign,
  startServer,
} from "@countersign/testing/countersign";
import { withStore } from "@countersign/testing/deliveries";
import { eventually } from "@countersign/testing/eventually";
import { filesIn } from "./support/audit-archive.ts";
import { countUnsealed, untilAllSealed } from "./support/audit-logs.ts";
import { newTarget, runImport, type Source } from "./support/imports.ts";

const ARGS = ["--instance-rate", "0", "--webhooks-off"];

const VERIFIER = join(import.meta.dirname, "../../../examples/audit-verifier/verify.mjs");

const REQUESTS = 600;

const AGE_MS = 200 * 24 * 3_600_000;

interface Place {
  readonly data?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs `countersign audit ...`, and asserts its success. */
async function audit(t: TestContext, { data, env = {} }: Place, ...words: readonly string[]) {
  const { code, stdout, stderr } = await run(t, { data, env } as Place, ...words);
  assert.equal(code, 0, stdout + stderr);
  return stdout;
}

function run(t: TestContext, { data, env = {} }: Place, ...words: readonly string[]) {
  const place = data === undefined ? [] : ["--data", data];
  return countersign(t, ["audit", ...words, ...place], { env });
}

/** Waits until everything is sealed, and makes all seals old. Nothing signed has their time. */
async function ageSeals(server: Server): Promise<void> {
  await withStore(server, async (store) => {
    await untilAllSealed(store);
    const sql = "update audit_seal set sealed_at = sealed_at - $1";
    await store.transact((tx) => tx.run(sql, [AGE_MS]));
  });
}

async function startFilled(t: TestContext) {
  const server = await startServer(t, { args: ARGS });
  const { credential } = await provision(
    server,
    await makeToken(server.data, { kind: "provisioner" }),
  );
  const agent = new Agent(server.url, credential.token);
  const ids: string[] = [];
  await agent.post("first", SUBMISSION);
  await ageSeals(server);
  const early = await audit(t, server, "checkpoint");
  for (let i = 0; i < REQUESTS; i++) {
    const { id } = (await agent.post(`key ${i}`, SUBMISSION)).json;
    await agent.cancel(id);
    ids.push(id);
  }
  await ageSeals(server);
  return { server, agent, ids, early };
}

function readCut({ database: file }: Server): number {
  const database = new DatabaseSync(file);
  try {
    return Number(database.prepare("select max(pruned) as n from audit_log").get()?.n);
  } finally {
    database.close();
  }
}

test("[ours.audit-archive.prune] [ours.audit-archive.files] a killed prune beside a busy server, the backup and the move to PostgreSQL keep the log and its archive verifiable", async (t) => {
  const { server, agent, ids, early } = await startFilled(t);
  const { data } = server;
  const folder = temporaryFolder(t);
  const [archive, key, old] = ["archive", "log.key", "old.txt"].map((name) => join(folder, name));
  assert.ok(archive && key && old);
  const first = join(folder, "first.txt");
  writeFileSync(first, early);
  writeFileSync(key, await audit(t, { data }, "key"));
  writeFileSync(old, await audit(t, { data }, "checkpoint"));
  const proofBefore = await audit(t, { data }, "prove", ids[3] ?? "");
  const words = ["archive", "--to", archive, "--before", "90d", "--prune"];

  const child = spawnCountersign(t, ["audit", ...words, "--data", data]);
  await eventually("the first slice is deleted", () => (readCut(server) > 0 ? true : undefined));
  await child.end("SIGKILL");
  await audit(t, { data }, "verify");
  const served: number[] = [];
  const rerun = audit(t, { data }, ...words);
  for (let i = 0; i < 50; i++) served.push((await agent.post(`busy ${i}`, SUBMISSION)).status);
  await rerun;
  assert.deepEqual(new Set(served), new Set([201]));
  assert.ok(readCut(server) > REQUESTS);
  assert.match(await audit(t, { data }, "verify"), /were not verified; give its folder/);
  const withArchive = ["verify", "--archive", archive, "--public-key", key, "--checkpoint", old];
  assert.match(await audit(t, { data }, ...withArchive), / of them in the archive/);
  assert.match(
    await audit(t, { data }, "verify", "--archive", archive, "--checkpoint", first),
    / of /,
  );
  const refused = await run(t, { data }, "verify", "--checkpoint", first);
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /are in an archive: give its folder with --archive/);

  const [log = ""] = JSON.parse(
    await audit(t, { data }, ...words, "--project", "default", "--json"),
  ).logs.map((each: { folder: string }) => each.folder);
  for (const file of filesIn(log)) {
    const lines = join(folder, "lines.jsonl");
    writeFileSync(lines, gunzipSync(readFileSync(file)));
    const args = [VERIFIER, lines, readFileSync(key, "utf8").trim()];
    assert.match(execFileSync(process.execPath, args, { encoding: "utf8" }), /verified/);
  }

  const missing = await run(t, { data }, "prove", ids[3] ?? "");
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /are in an archive: give --archive DIR/);
  const proofAfter = await audit(t, { data }, "prove", ids[3] ?? "", "--archive", archive);
  for (const proof of [proofBefore, proofAfter]) {
    const file = join(folder, "proof.jsonl");
    writeFileSync(file, proof);
    const shown = await audit(t, {}, "verify", "--proof", file, "--public-key", key);
    assert.match(shown, /request\.opened.*\n.*request\.resolved/);
  }

  const backup = join(folder, "backup.db");
  const copied = await countersign(t, ["backup", backup, "--data", data]);
  assert.equal(copied.code, 0, copied.stderr);
  await audit(t, { data }, "verify", "--backup", backup, "--archive", archive);

  await ageSeals(server);
  await server.stop();
  const secret = readFileSync(join(data, "secret.key"), "utf8").trim();
  const target = await newTarget({ key: secret } as Source);
  const imported = await runImport(t, data, target);
  assert.equal(imported.code, 0, imported.stderr);
  const { env } = target;
  await audit(t, { env }, "verify", "--archive", archive, "--checkpoint", old);
  const moved = await startServer(t, { env, args: ARGS });
  const pruned = JSON.parse(await audit(t, { env }, ...words, "--json")).logs;
  assert.ok(pruned.some(({ pruned: { from, to } }: Pruned) => from > 0 && to > from));
  await withStore(moved, async (store) => {
    const isSealed = async () => ((await countUnsealed(store)) === 0 ? true : undefined);
    await eventually("the entry about the prune is sealed", isSealed);
  });
  await audit(t, { env }, "verify");
  await audit(t, { env }, "verify", "--archive", archive, "--checkpoint", old);
});

interface Pruned {
  readonly pruned: { readonly from: number; readonly to: number };
}
