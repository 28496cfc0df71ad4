/**
 * The subject: the real provider with its real settings, in a child process of the benchmark.
 * Rate limits are off, because one instance sends everything. The log goes to standard output,
 * as it does in production; the benchmark points that at a file.
 *
 * Arguments: the data folder, settings as NAME=VALUE, and policy_file=PATH of a policy to activate.
 */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

import { createToken, readConfig, startProvider, toSecrets, toSettings } from "@countersign/server";
import { insertPolicyVersion } from "../packages/server/src/storage/sql/policy/policy-versions.ts";
import { WATCH_LOOP } from "./children.ts";

const NO_LIMIT = "0";

const [data, ...settings] = process.argv.slice(2);
const flags = {
  data,
  port: "0",
  instance_rate: NO_LIMIT,
  account_submission_rate: NO_LIMIT,
  provisioner_rate: NO_LIMIT,
  reviewer_rate: NO_LIMIT,
  unauthenticated_rate: NO_LIMIT,
  ...Object.fromEntries(settings.map(split)),
};
const { policy_file: policyFile, ...settingFlags } = flags as Record<string, string | undefined>;
const config = readConfig(settingFlags, {});
const provider = await startProvider(toSettings(config), toSecrets(config));

const order = { name: "bench", project: "bench", role: "reviewer", expiresAt: null } as const;
const provisioner = await createToken(provider.context, { ...order, kind: "provisioner" });
const admin = { ...order, kind: "reviewer", role: "admin" } as const;
const reviewer = await createToken(provider.context, admin);

if (policyFile !== undefined) await enforce(readFileSync(policyFile, "utf8"));

// Ends with the benchmark, however that ends; a profile is written on the way out.
process.once("disconnect", () => provider.close().then(() => process.exit()));
const loop = monitorEventLoopDelay({ resolution: 1 });
process.on("message", (message) => {
  if (message === WATCH_LOOP) {
    loop.enable();
    loop.reset();
  }
  process.send?.({ longestMs: loop.max / 1e6 });
});
process.send?.({
  port: Number(new URL(provider.url).port),
  provisionerToken: provisioner.token,
  reviewerToken: reviewer.token,
});

async function enforce(source: string): Promise<void> {
  const { store, clock } = provider.context;
  await store.transact(async (tx) => {
    const project = await tx.get("select id from project where name = $1", [order.project]);
    await insertPolicyVersion(tx, {
      projectId: String(project?.id),
      number: 1,
      sha256: createHash("sha256").update(source).digest("hex"),
      source,
      note: null,
      publishedAt: clock.now(),
      publishedBy: "operator:cli",
      proposedBy: null,
      isTwoPerson: false,
    });
  });
}

/** A value may hold the sign that ends the name. */
function split(setting: string): [string, string] {
  const nameEnd = setting.indexOf("=");
  return [setting.slice(0, nameEnd), setting.slice(nameEnd + 1)];
}
