import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { before, type TestContext, test } from "node:test";
import { exchange, provision } from "@countersign/testing/agents";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { countersign, type Server, startServer } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

const file = fileOwner();
let server: Server;

before(async () => {
  server = await startServer(file);
});

/** @returns stdout */
async function tokens(t: TestContext, ...args: readonly string[]): Promise<string> {
  const outcome = await countersign(t, ["tokens", ...args, "--data", server.data]);
  assert.deepEqual([outcome.code, outcome.stderr], [0, ""]);
  return outcome.stdout;
}

async function idOf(t: TestContext, name: string): Promise<string> {
  const row = (await tokens(t, "list")).split("\n").find((line) => line.includes(`  ${name} `));
  assert.ok(row !== undefined, `tokens list shows no ${name}`);
  return row.slice(0, 36);
}

async function statusOf(token: string): Promise<number> {
  return (await exchange("GET", `${server.url}/review/v1/requests`, token)).status;
}

test("[ours.cli.token-alone] a reviewer's token is the only line on stdout and works at once on the running server", async (t) => {
  const stdout = await tokens(t, "create", "reviewer", "--name", "alone");
  assert.match(stdout, /^cs_rev_[0-9A-Za-z]{49}\n$/);
  assert.equal(await statusOf(stdout.trim()), 200);
});

test("[ours.cli.token-alone] a provisioner's token is the only line on stdout and works at once on the running server", async (t) => {
  const stdout = await tokens(t, "create", "provisioner", "--name", "setup");
  assert.match(stdout, /^cs_prov_[0-9A-Za-z]{49}\n$/);
  const { credential } = await provision(server, stdout.trim());
  assert.match(credential.token, /^cs_inst_/);
});

test("[ours.cli.token-alone] tokens create without a database fails, and creates none", async (t) => {
  const data = join(temporaryFolder(t), "new");
  const args = ["tokens", "create", "reviewer", "--name", "me", "--data", data];
  const { code, stdout, stderr } = await countersign(t, args);
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /no database found in .+; start a server first, or .+ with --data\n$/);
  assert.equal(existsSync(data), false);
});

test("[ours.cli.token-alone] a second token of a provisioner replays with the keys of the first", async (t) => {
  const order = ["create", "provisioner", "--name", "rotating"];
  const first = (await tokens(t, ...order)).trim();
  const { instance } = await provision(server, first, "rotation");
  const second = (await tokens(t, ...order)).trim();
  assert.notEqual(second, first);
  assert.equal((await provision(server, second, "rotation")).instance.id, instance.id);
});

test("[ours.cli.token-alone] a token made with a life ends with it", async (t) => {
  const order = ["--name", "brief", "--expires-in", "1s"];
  const token = (await tokens(t, "create", "reviewer", ...order)).trim();
  assert.match(await tokens(t, "list"), / {2}brief .* (live until|expired) \d{4}-/);
  await eventually("a 401", async () => ((await statusOf(token)) === 401 ? true : undefined));
  assert.match(await tokens(t, "list"), / {2}brief .* expired \d{4}-/);
});

test("[ours.cli.tokens.list] every token of an operator is listed with id, kind, name, project and state, and no secret", async (t) => {
  const shop = ["--project", "shop"];
  const secrets = [
    await tokens(t, "create", "reviewer", "--name", "ada", ...shop),
    await tokens(t, "create", "reviewer", "--name", "guest", "--role", "viewer", ...shop),
    await tokens(t, "create", "provisioner", "--name", "deployer", ...shop),
  ].map((stdout) => stdout.trim());

  const { stdout } = await countersign(t, ["tokens", "list", "--data", server.data]);
  const [head, ...rows] = stdout.trimEnd().split("\n");
  assert.match(head ?? "", /^ID +KIND +NAME +PROJECT +STATE$/);
  for (const row of rows) assert.match(row, new RegExp(`^${UUID}  \\w+ +\\S+ +\\S+ +\\w+`));
  for (const [kind, name] of [
    ["reviewer", "ada"],
    ["viewer", "guest"],
    ["provisioner", "deployer"],
  ]) {
    assert.match(stdout, new RegExp(`^${UUID}  ${kind} +${name} +shop +live$`, "m"));
  }
  for (const secret of secrets) assert.ok(!stdout.includes(secret.slice(8, 40)));
});

test("[ours.cli.tokens.list] the credentials of instances are not an operator's and are not listed", async (t) => {
  const order = ["create", "provisioner", "--name", "counter"];
  const provisioner = (await tokens(t, ...order)).trim();
  const before = await tokens(t, "list");
  await provision(server, provisioner);
  assert.equal(await tokens(t, "list"), before);
});

test("[ours.cli.tokens.list] tokens list reports a database without tokens", async (t) => {
  const { data } = await startServer(t);
  const { code, stdout } = await countersign(t, ["tokens", "list", "--data", data]);
  assert.deepEqual([code, stdout], [0, "There are no tokens.\n"]);
});

test("[ours.cli.tokens.list] tokens list in a folder without a database fails and creates none", async (t) => {
  const data = join(temporaryFolder(t), "mistyped");
  const commands = [["list"], ["revoke", "01a1fb6b-6ba3-7554-8ce5-a39d503b8141"]];
  for (const args of commands) {
    const { code, stderr } = await countersign(t, ["tokens", ...args, "--data", data]);
    assert.equal(code, 1);
    assert.ok(stderr.startsWith(`countersign: no database found in ${data}; `), stderr);
    assert.equal(existsSync(data), false);
  }
});

test("[ours.cli.tokens.revoke] a revoked token is invalid at once on the running server, and listed as revoked", async (t) => {
  const order = ["create", "reviewer", "--name", "leaver"];
  const token = (await tokens(t, ...order)).trim();
  assert.equal(await statusOf(token), 200);
  const id = await idOf(t, "leaver");

  assert.equal(await tokens(t, "revoke", id), `Revoked ${id}.\n`);

  assert.equal(await statusOf(token), 401);
  assert.match(await tokens(t, "list"), new RegExp(`^${id} .*  revoked \\d{4}-`, "m"));
});

test("[ours.cli.tokens.revoke] revoking one token of a name leaves the other, and revoking again changes nothing", async (t) => {
  const order = ["create", "reviewer", "--name", "twofold"];
  const first = (await tokens(t, ...order)).trim();
  const id = await idOf(t, "twofold");
  const second = (await tokens(t, ...order)).trim();
  await tokens(t, "revoke", id);
  const list = await tokens(t, "list");
  await tokens(t, "revoke", id);
  assert.equal(await tokens(t, "list"), list);
  assert.deepEqual([await statusOf(first), await statusOf(second)], [401, 200]);
});

test("[ours.cli.untrusted-text] a name with control characters is listed escaped", async (t) => {
  await tokens(t, "create", "reviewer", "--name", "evil\u001b[2J", "--project", "p\u202e");
  const list = await tokens(t, "list");
  assert.match(list, /evil\\u\{001B\}\[2J +p\\u\{202E\} +live/);
  assert.doesNotMatch(list.replaceAll("\n", ""), /[\p{Cc}\p{Cf}]/u);
});
