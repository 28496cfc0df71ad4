// Needs: bash
import assert from "node:assert/strict";
import { before, type TestContext, test } from "node:test";
import { exchange, makeToken } from "@countersign/testing/agents";
import { Child, fileOwner, temporaryFolder } from "@countersign/testing/child";
import {
  BIN,
  countersign,
  ownEnvironment,
  type Server,
  startServer,
} from "@countersign/testing/countersign";

const file = fileOwner();
let server: Server;

before(async () => {
  server = await startServer(file);
});

interface Created {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly key: string;
}

async function create(t: TestContext, args: readonly string[], env = {}): Promise<Created> {
  const command = ["agents", "create", ...args, "--json"];
  const { code, stdout, stderr } = await countersign(t, command, { env });
  assert.deepEqual([code, stderr], [0, ""]);
  return JSON.parse(stdout) as Created;
}

/** 404 for a key that works: the request does not exist. */
async function statusFor({ url, key }: Created): Promise<number> {
  return (await exchange("GET", `${url}/v1/requests/${crypto.randomUUID()}`, key)).status;
}

test("[ours.cli.instances] agents create in the data folder prints the variables alone on stdout", async (t) => {
  const { code, stdout, stderr } = await countersign(t, [
    "agents",
    "create",
    "bot",
    "--data",
    server.data,
  ]);
  assert.equal(code, 0, stderr);
  const [, url = "", key = ""] =
    /^export COUNTERSIGN_URL=(\S+)\nexport COUNTERSIGN_API_KEY=(cs_inst_\S+)\n$/.exec(stdout) ?? [];
  assert.equal(url, server.url);
  assert.equal(await statusFor({ id: "", name: "bot", url, key }), 404);
  assert.match(
    stderr,
    /^Created the agent bot \(id [0-9a-f-]{36}\)\.\nThe key is displayed once\./,
  );
  assert.ok(!stderr.includes(key));
});

test("[ours.cli.instances] the output of agents create is a program of the shell", async (t) => {
  const script = [
    'variables="$("$NODE" "$BIN" agents create sh --data "$DATA")"',
    'eval "$variables"',
    'echo "$COUNTERSIGN_URL" "$COUNTERSIGN_API_KEY"',
  ].join("\n");
  const env = { ...ownEnvironment(), NODE: process.execPath, BIN, DATA: server.data };
  const { code, stdout } = await new Child(t, ["bash", "-euc", script], { env }).ends();
  assert.equal(code, 0);
  const [url = "", key = ""] = stdout.trim().split(" ");
  assert.equal(await statusFor({ id: "", name: "", url, key }), 404);
});

test("[ours.cli.instances] agents create rejects an existing name", async (t) => {
  await create(t, ["twice", "--data", server.data]);
  const again = await countersign(t, ["agents", "create", "twice", "--data", server.data]);
  assert.deepEqual([again.code, again.stdout], [1, ""]);
  assert.match(again.stderr, /an agent is named "twice"; choose another name, or run: /);
});

test("[ours.cli.instances] agents create works at a server with an admin token or a provisioner token", async (t) => {
  const admin = await makeToken(server.data, { kind: "reviewer", name: "root", role: "admin" });
  const provisioner = await makeToken(server.data, { kind: "provisioner", name: "setup" });
  const at = (token: string) => ({ COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: token });
  const cwd = { cwd: temporaryFolder(t) };
  const remote = await create(t, ["far", "--groups", "bots", "--owner", "root"], at(admin));
  assert.deepEqual([remote.url, await statusFor(remote)], [server.url, 404]);
  const provisioned = await create(t, ["farther"], at(provisioner));
  assert.deepEqual([provisioned.url, await statusFor(provisioned)], [server.url, 404]);

  const list = await countersign(t, ["agents", "list"], { env: at(admin), ...cwd });
  assert.match(list.stdout, new RegExp(`^${remote.id}  far +bots +root$`, "m"));
  const refused = await countersign(t, ["agents", "list"], { env: at(provisioner), ...cwd });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /a provisioner token cannot list agents/);

  const gone = await countersign(t, ["agents", "delete", "far"], { env: at(admin), ...cwd });
  assert.deepEqual([gone.code, gone.stdout], [0, `Deleted the agent ${remote.id}.\n`]);
  const other = await countersign(t, ["agents", "delete", provisioned.id], {
    env: at(provisioner),
  });
  assert.equal(other.code, 0, other.stderr);
  assert.deepEqual([await statusFor(remote), await statusFor(provisioned)], [401, 401]);
});

test("[ours.cli.instances] agents revoke in the data folder revokes the key", async (t) => {
  const agent = await create(t, ["short-lived", "--data", server.data]);
  const { code, stderr } = await countersign(t, [
    "agents",
    "revoke",
    "short-lived",
    "--data",
    server.data,
  ]);
  assert.equal(code, 0, stderr);
  assert.equal(await statusFor(agent), 401);
  const again = await countersign(t, ["agents", "delete", "short-lived", "--data", server.data]);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /no agent is named "short-lived"; run agents list/);
});

test("[ours.cli.instances] agents list prints the same agents locally and at the server, also as instances list", async (t) => {
  const admin = await makeToken(server.data, { kind: "reviewer", name: "lister", role: "admin" });
  await create(t, ["listed", "--groups", "a,b", "--data", server.data]);
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: admin };
  const local = await countersign(t, ["agents", "list", "--data", server.data]);
  const remote = await countersign(t, ["instances", "list"], { env });
  assert.match(local.stdout, /^\S+ {2}listed +a,b +-$/m);
  assert.equal(local.stdout, remote.stdout);
  const json = async (args: readonly string[], given = {}) => {
    const { stdout } = await countersign(t, [...args, "--json"], { env: given });
    return JSON.parse(stdout) as object[];
  };
  const here = await json(["agents", "list", "--data", server.data]);
  const there = await json(["agents", "list"], env);
  assert.deepEqual(
    here,
    there
      .map((agent) => ({ ...agent, receiver: undefined }))
      .map((agent) => {
        const { receiver: _, ...rest } = agent;
        return rest;
      }),
  );
});

test("[ours.cli.instances] agents show prints an agent by name or id, also as instances show", async (t) => {
  const admin = await makeToken(server.data, { kind: "reviewer", name: "shower", role: "admin" });
  const { id } = await create(t, ["watched", "--data", server.data]);
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: admin };
  const named = await countersign(t, ["agents", "show", "watched"], { env });
  assert.equal(named.code, 0, named.stderr);
  assert.match(named.stdout, new RegExp(`^agent {6}watched {2}${id}$`, "m"));
  assert.match(named.stdout, /^requests {3}0 pending, last -\nreceiver {3}-$/m);
  const byId = await countersign(t, ["instances", "show", id], { env });
  assert.equal(byId.stdout, named.stdout);
  const { stdout } = await countersign(t, ["agents", "show", id, "--json"], { env });
  assert.equal(JSON.parse(stdout).last_request_at, null);
  const unknown = await countersign(t, ["agents", "show", "no-agent"], { env });
  assert.deepEqual([unknown.code, unknown.stdout], [1, ""]);
});

test("[ours.cli.instances] without a database and without a token, agents create creates nothing", async (t) => {
  const cwd = temporaryFolder(t);
  const { code, stdout, stderr } = await countersign(t, ["agents", "create", "bot"], { cwd });
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /no database found in \.\/data/);
  const remote = await countersign(t, ["agents", "create", "bot", "--url", server.url], { cwd });
  assert.equal(remote.code, 2);
  assert.match(remote.stderr, /COUNTERSIGN_TOKEN is not set/);
});
