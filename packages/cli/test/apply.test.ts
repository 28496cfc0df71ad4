/** A project as files: export, drift, apply, and a new project from a directory. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { exchange, makeToken } from "@countersign/testing/agents";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { countersign, type Server, startServer } from "@countersign/testing/countersign";
import { directoryOf, expectExit, newProject } from "./support/apply-project.ts";

const file = fileOwner();
let server: Server;

before(async () => {
  server = await startServer(file);
});

const POLICY = `version: 1
rules:
  - id: deploys
    match: { tool: deploy.* }
    then: ask
    ask: { from: group:release }
`;

const FILES = {
  "project.yaml": "kind: Project\nname: shop\n",
  "bots.yaml": "kind: Bot\nname: ci\nrole: reviewer\nscopes: [read, decide:release]\n",
  "people.yaml": `kind: Reviewer
name: ben
role: reviewer
---
kind: Reviewer
name: ana
role: admin
`,
  "groups.yaml": "kind: Group\nname: release\nreviewers: [ci, ben]\nagents: [deployer]\n",
  "agents.yaml": "kind: Agent\nname: deployer\nowner: ana\n",
  "policy.yaml": "kind: Policy\npolicy_file: texts/policy.yaml\n",
  "texts/policy.yaml": POLICY,
  "channels.yaml": `kind: Channel
name: ops
type: slack
url_from: { env: OPS_URL }
groups: [release]
agents: [deployer]
remind_before: 300s
---
kind: Channel
name: pager
type: webhook
url: https://hooks.example.com/countersign
enabled: false
`,
  "provisioners.yaml": "kind: Provisioner\nname: platform\nexpires_in: 720h\n",
  "grants.yaml": "kind: Grant\nagent: deployer\ntool: restart\nlasts: 60m\n",
};

const SECRET = "SECRETSLACKPATH";

const OPS_URL = `https://hooks.slack.com/services/${SECRET}`;

test("[ours.apply.create] [ours.apply.secrets] apply creates everything of a directory in an empty project, and a second apply does nothing", async (t) => {
  const shop = await newProject(server, "shop", { OPS_URL });
  const directory = directoryOf(t, FILES);
  const secrets = join(temporaryFolder(t), "secrets");
  const planned = await expectExit(shop.run(t, "plan", "-f", directory), 4);
  assert.match(planned.stdout, /^\+ Agent deployer$/m);
  assert.match(planned.stdout, /^Plan: 8 to create, 0 to change, 0 to delete\.$/m);
  const applied = await expectExit(
    shop.run(t, "apply", "-f", directory, "--yes", "--secrets", secrets),
    0,
  );
  assert.match(applied.stdout, /^\+ Reviewer ben: waits for ben to accept the invitation$/m);
  assert.match(applied.stdout, /^7 applied, 1 waiting for people\.$/m);
  assert.doesNotMatch(applied.stdout + applied.stderr, /cs_|whsec_|SECRETSLACKPATH/);

  assert.deepEqual(readdirSync(secrets).sort(), [
    "agent-deployer.token",
    "bot-ci.token",
    "channel-pager.signing-secret",
    "provisioner-platform.token",
    "reviewer-ben.invitation",
  ]);
  for (const name of readdirSync(secrets)) {
    assert.equal(statSync(join(secrets, name)).mode & 0o777, 0o600);
  }
  const agentToken = readFileSync(join(secrets, "agent-deployer.token"), "utf8").trim();
  const call = { tool: "deploy.production", arguments: {}, timeout: "1h" };
  const url = `${server.url}/v1/requests`;
  const made = await exchange<{ status: string }>("POST", url, agentToken, call, "one");
  assert.deepEqual([made.status, made.json.status], [201, "pending"], made.text);
  const granted = { tool: "restart", arguments: {}, timeout: "1h" };
  const other = await exchange<{ status: string }>("POST", url, agentToken, granted, "two");
  assert.equal(other.json.status, "approved", other.text);
  const provisioner = readFileSync(join(secrets, "provisioner-platform.token"), "utf8").trim();
  const provisioned = await exchange("POST", `${server.url}/v1/instances`, provisioner, {}, "key");
  assert.equal(provisioned.status, 201, provisioned.text);

  const { grants } = await shop.call<{ grants: { id: string }[] }>("GET", "grants");
  await shop.call("POST", `grants/${grants[0]?.id}/revoke`);

  const viewer = { kind: "reviewer", name: "ed", role: "viewer", project: "shop" } as const;
  const scoped = await makeToken(server.data, { ...viewer, scopes: ["read"] });
  const { "people.yaml": _, "provisioners.yaml": __, ...readable } = FILES;
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: scoped };
  const compared = countersign(t, ["plan", "-f", directoryOf(t, readable)], { env });
  // A group needs documents or reviewers for its names.
  assert.match((await expectExit(compared, 1)).stderr, /there is no reviewer ben/);
  const { "groups.yaml": ___, ...rest } = readable;
  const seen = countersign(t, ["plan", "-f", directoryOf(t, rest)], { env });
  assert.match((await expectExit(seen, 0)).stdout, /^No differences\.$/m);

  const again = await expectExit(shop.run(t, "apply", "-f", directory, "--yes"), 0);
  assert.match(
    again.stderr,
    /^Note: Grant restart of deployer, .*: was revoked, and is not created/m,
  );
  assert.match(again.stdout, /^0 applied\.$/m);
  const { stdout } = await expectExit(shop.run(t, "plan", "-f", directory, "--json"), 4);
  const waiting = JSON.parse(stdout).steps.map((step: Record<string, string>) => [
    step.kind,
    step.waits_for,
  ]);
  assert.deepEqual(waiting, [["Reviewer", "ben to accept the invitation"]]);
});

test("[ours.apply.export] [ours.apply.prune] the plan of an export reports no difference, and apply corrects a change by hand", async (t) => {
  const shop = await newProject(server, "warehouse", {
    OPS_URL,
    CHANNEL_OPS_URL: OPS_URL,
  });
  const files = { ...FILES, "project.yaml": "kind: Project\nname: warehouse\n" };
  const first = directoryOf(t, files);
  const secrets = join(temporaryFolder(t), "secrets");
  await expectExit(shop.run(t, "apply", "-f", first, "--yes", "--secrets", secrets), 0);

  const directory = join(temporaryFolder(t), "export");
  await expectExit(shop.run(t, "export", "-d", directory), 0);
  const channels = readFileSync(join(directory, "channels.yaml"), "utf8");
  assert.match(channels, /url_from:\n {2}env: CHANNEL_OPS_URL$/m);
  assert.doesNotMatch(channels, new RegExp(SECRET));
  assert.equal(readFileSync(join(directory, "policies/project.yaml"), "utf8"), POLICY);
  const bots = readFileSync(join(directory, "bots.yaml"), "utf8");
  assert.match(bots, /name: ci\nrole: reviewer\nscopes:\n {2}- decide:release\n {2}- read$/m);
  const clean = await expectExit(shop.run(t, "plan", "-f", directory, "--prune"), 0);
  assert.match(clean.stdout, /^No differences\.$/m);

  const { channels: listed } = await shop.call<{ channels: { id: string; name: string }[] }>(
    "GET",
    "channels",
  );
  const ops = listed.find(({ name }) => name === "ops");
  const moved = { url: "https://hooks.example.com/mine", groups: [], include_arguments: true };
  await shop.call("PATCH", `channels/${ops?.id}`, moved);
  const loose = "version: 1\nrules:\n  - { id: all, match: { tool: '*' }, then: approve }\n";
  await shop.call("POST", "policy", { source: loose, expected_number: 1 });
  await shop.call("POST", "tokens", { name: "mallory", role: "reviewer", groups: ["release"] });

  const drift = await expectExit(shop.run(t, "plan", "-f", directory), 4);
  assert.match(drift.stdout, /^~ Bot mallory\n {4}groups: release -> -$/m);
  const target = "target: https://hooks.example.com/... -> https://hooks.slack.com/...";
  assert.ok(drift.stdout.includes(target), drift.stdout);
  assert.match(drift.stdout, /^ {4}include_arguments: true -> false$/m);
  assert.match(drift.stdout, /^ {6}added {4}deploys\n {6}removed {2}all$/m);
  assert.match(drift.stdout, /^No document, kept without --prune:\n {2}Bot mallory$/m);
  await expectExit(shop.run(t, "apply", "-f", directory, "--yes"), 0);
  await expectExit(shop.run(t, "plan", "-f", directory), 0);
  await expectExit(shop.run(t, "plan", "-f", directory, "--prune"), 4);
  const pruned = await expectExit(shop.run(t, "apply", "-f", directory, "--prune", "--yes"), 0);
  assert.equal(pruned.stdout, "- Bot mallory: done\n1 applied.\n");
  await expectExit(shop.run(t, "plan", "-f", directory, "--prune"), 0);
});
