/**
 * Checks that answered decisions remain when the primary is lost and its standby takes over, while
 * agents submit and a reviewer approves:
 *
 *   node tools/deploy/try-failover.ts /usr/lib/postgresql/15/bin
 *
 * Once with a synchronous and once with an asynchronous standby, which in both cases stops taking
 * in WAL for a while before. Needs an installed PostgreSQL with its user, and root to become it.
 * Takes about half a minute.
 *
 * @see docs/guides/scale.md, High availability of PostgreSQL
 */

import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { ApprovalRequest, ProvisionInstanceResponse } from "@countersign/protocol";
import { exchange, SUBMISSION } from "@countersign/testing/agents";
import { temporaryFolder } from "@countersign/testing/child";
import { type Server, startServer } from "@countersign/testing/countersign";
import {
  createToken,
  openContext,
  readConfig,
  toSecrets,
  toSettings,
} from "../../packages/server/src/index.ts";
import { startCluster } from "./cluster.ts";

const CALLERS = 8;
const ends: (() => Promise<void>)[] = [];
const owner = { after: (end: () => Promise<void>) => void ends.unshift(end) };

interface Scene {
  readonly server: Server;
  readonly instance: string;
  readonly reviewer: string;
}

async function startScene(url: string): Promise<Scene> {
  const key = randomBytes(32).toString("base64");
  const env = { COUNTERSIGN_DATABASE_URL: url, COUNTERSIGN_SECRET_KEY: key };
  const args = ["--instance-rate", "0", "--reviewer-rate", "0"];
  const server = await startServer(owner, { env, args });
  const data = join(temporaryFolder(owner), "data");
  const config = readConfig({ data, database_url: url, secret_key: key }, {});
  const opened = await openContext(toSettings(config), toSecrets(config));
  const order = { project: "default", role: "reviewer", expiresAt: null } as const;
  const token = async (kind: "provisioner" | "reviewer") =>
    (await createToken(opened.context, { ...order, kind, name: kind })).token;
  const [provisioner, reviewer] = [await token("provisioner"), await token("reviewer")];
  await opened.close();
  const provisioned = await exchange<ProvisionInstanceResponse>(
    "POST",
    `${server.url}/v1/instances`,
    provisioner,
    {},
    "first",
  );
  return { server, reviewer, instance: provisioned.json.credential.token };
}

/** @returns the id of a request whose approval was answered; undefined when something was not */
async function approveOne({ server, instance, reviewer }: Scene): Promise<string | undefined> {
  const { url } = server;
  const made = await exchange<ApprovalRequest>(
    "POST",
    `${url}/v1/requests`,
    instance,
    SUBMISSION,
    randomUUID(),
  );
  if (made.status !== 201) return undefined;
  const path = `${url}/review/v1/requests/${made.json.id}`;
  const shown = await exchange<{ arguments_sha256: string }>("GET", path, reviewer);
  if (shown.status !== 200) return undefined;
  const body = { verdict: "approve", arguments_sha256: shown.json.arguments_sha256 };
  const decided = await exchange("POST", `${path}/verdict`, reviewer, body);
  return decided.status === 200 ? made.json.id : undefined;
}

async function tryFailover(
  programs: string,
  replication: "synchronous" | "asynchronous",
): Promise<{ answered: number; meanwhile: number; lost: number }> {
  const folder = temporaryFolder(owner, "countersign-failover-");
  const cluster = await startCluster(programs, folder, replication);
  owner.after(() => cluster.stop());
  const scene = await startScene(cluster.url);
  const answered: string[] = [];
  let isOver = false;
  const caller = async () => {
    while (!isOver) {
      const id = await approveOne(scene);
      if (id === undefined) await pause(100);
      else answered.push(id);
    }
  };
  const callers = Array.from({ length: CALLERS }, caller);
  await pause(2_000);
  await cluster.freezeStandby();
  // Those that were on their way have been answered by now.
  await pause(500);
  const before = answered.length;
  await pause(1_500);
  const meanwhile = answered.length - before;
  await cluster.failOver();
  await pause(3_000);
  isOver = true;
  await Promise.all(callers);
  let lost = 0;
  for (const id of answered) {
    const path = `${scene.server.url}/v1/requests/${id}`;
    const read = await exchange<ApprovalRequest>("GET", path, scene.instance);
    if (read.status !== 200 || read.json.status !== "approved") lost++;
  }
  return { answered: answered.length, meanwhile, lost };
}

const { positionals } = parseArgs({ allowPositionals: true });
const [programs] = positionals;
if (programs === undefined) {
  console.error("usage: node tools/deploy/try-failover.ts FOLDER-OF-POSTGRESQL-PROGRAMS");
  process.exit(2);
}
try {
  for (const replication of ["synchronous", "asynchronous"] as const) {
    const { answered, meanwhile, lost } = await tryFailover(programs, replication);
    console.log(
      `${replication}: ${answered} approvals answered, ${meanwhile} of them while the standby ` +
        `was frozen; ${lost} of them lost by the failover`,
    );
    assert.equal(lost > 0, replication === "asynchronous");
    assert.equal(meanwhile > 0, replication === "asynchronous");
  }
} finally {
  for (const end of ends) await end();
}
