import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { before, type TestContext, test } from "node:test";
import { type Agent, makeToken, newAgent } from "@countersign/testing/agents";
import { fileOwner, type Outcome, temporaryFolder } from "@countersign/testing/child";
import {
  countersign,
  type Server,
  spawnCountersign,
  startServer,
} from "@countersign/testing/countersign";

const UNKNOWN = "01a1fb6b-6ba3-7554-8ce5-a39d503b8141";

const file = fileOwner();
let server: Server;
let agent: Agent;
let reviewer: string;

before(async () => {
  server = await startServer(file);
  agent = await newAgent(server);
  reviewer = await makeToken(server.data, { kind: "reviewer" });
});

/** Runs a command of a reviewer against the server of this file. */
function review(t: TestContext, args: readonly string[], token = reviewer): Promise<Outcome> {
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: token };
  return countersign(t, args, { env });
}

/** Nothing on stdout, and every line of stderr says who speaks. */
function assertClear({ stdout, stderr }: Outcome): void {
  assert.equal(stdout, "");
  assert.match(stderr, /^(countersign: .+\n)+$/);
}

const USAGE: Readonly<Record<string, readonly [command: string, message: RegExp]>> = {
  "an unknown command": ["decide", /no command "decide"/],
  "a word that every object knows": ["constructor", /no command "constructor"/],
  "a family without a command": [
    "requests",
    /list, show, search, approve, deny, withdraw, claim, hand-over, release, comments, comment/,
  ],
  "an unknown command of a family": ["tokens make", /create, list, revoke, not "make"/],
  "an unknown option": [
    "requests list --stat decided",
    /no option --stat; see countersign requests list --help$/m,
  ],
  "a secret on the command line": ["requests list --token abc", /COUNTERSIGN_TOKEN/],
  "an option without its value": [
    "requests list --state",
    /--state needs a value; see .+ requests list --help$/m,
  ],
  "a missing argument": [
    "requests show",
    /the id of the request is missing; see countersign requests show --help$/m,
  ],
  "an argument too many": [
    "requests show a b",
    /unexpected argument "b"; see .+ requests show --help$/m,
  ],
  "an unknown state": ["requests list --state all", /pending or decided/],
  "a limit out of bounds": ["requests list --limit 1001", /from 1 to 1000/],
  "an approval without a displayed digest": [`requests approve ${UNKNOWN}`, /--digest SHA256/],
  "a validity that is not a duration": ["requests approve x --yes --valid-for 5", /such as 5m/],
  "an address that is not a URL": ["requests list --url localhost:8787", /http:\/\/ or https:\/\//],
  "a token in the clear": ["requests list --url http://192.0.2.1:8787", /use https:\/\/ /],
  "a setting that is not a number": ["serve --port http", /--port: "http" is not a whole number/],
  "settings that contradict each other": ["serve --tls-cert a.pem", /both or neither/],
  "an invalid group": ["tokens create reviewer --name me --groups A+B", /--groups must be/],
  "a config file that is not there": ["serve --config ./nowhere.yaml", /nowhere.yaml/],
  "a token without a kind": ["tokens create", /provisioner, reviewer or scim is missing/],
  "a token of an unknown kind": ["tokens create agent --name me", /provisioner, reviewer or scim/],
  "a token without a name": ["tokens create reviewer", /--name is missing/],
  "an unknown role": ["tokens create reviewer --name me --role king", /admin or operator/],
  "a role for a provisioner": [
    "tokens create provisioner --name me --role viewer",
    /require the kind reviewer/,
  ],
  "a life that is not a duration": ["tokens create reviewer --name me --expires-in 1d", /720h/],
  "an id that no token has": ["tokens revoke me", /tokens list/],
  "a backup to nowhere": ["backup", /the file to write is missing/],
};

for (const [what, [command, message]] of Object.entries(USAGE)) {
  test(`[ours.cli.exit-codes] ${what} is wrong usage, exit code 2`, async (t) => {
    const outcome = await review(t, command.split(" "));
    assert.equal(outcome.code, 2, outcome.stderr);
    assertClear(outcome);
    assert.match(outcome.stderr, message);
  });
}

test("[ours.cli.exit-codes] a setting that cannot be used is wrong usage, exit code 2", async (t) => {
  const data = join(temporaryFolder(t), "data");
  const cases = [
    { args: ["--tls-cert", "/no/such", "--tls-key", "/no/such"], says: /tls_cert cannot be read/ },
    { args: [], env: { COUNTERSIGN_SECRET_KEY: "short" }, says: /must be 32 bytes in base64/ },
  ];
  for (const { args, env = {}, says } of cases) {
    const serve = ["serve", "--port", "0", "--data", data, ...args];
    const outcome = await countersign(t, serve, { env });
    assert.equal(outcome.code, 2, outcome.stderr);
    assertClear(outcome);
    assert.match(outcome.stderr, says);
  }
});

test("[ours.cli.exit-codes] a command without its required token exits with 2 and prints how to get one", async (t) => {
  const outcome = await countersign(t, ["requests", "list", "--url", server.url]);
  assert.equal(outcome.code, 2);
  assertClear(outcome);
  assert.match(outcome.stderr, /countersign tokens create reviewer --name NAME/);
});

test("[ours.cli.exit-codes] a token that no header can carry is wrong usage and is not repeated", async (t) => {
  const outcome = await review(t, ["requests", "list"], "cs_rev_HALF\nHALF");
  assert.equal(outcome.code, 2);
  assertClear(outcome);
  assert.doesNotMatch(outcome.stderr, /HALF/);
});

test("[ours.cli.exit-codes] a command that did its work exits 0", async (t) => {
  const { id } = await agent.submit();
  for (const args of [["list"], ["show", id], ["deny", id]]) {
    const { code, stderr } = await review(t, ["requests", ...args]);
    assert.deepEqual([code, stderr], [0, ""]);
  }
});

test("[ours.cli.exit-codes] a wrong token exits with 1", async (t) => {
  for (const token of [`${reviewer.slice(0, -1)}!`, agent.token]) {
    const outcome = await review(t, ["requests", "list"], token);
    assert.equal(outcome.code, 1, outcome.stderr);
    assertClear(outcome);
  }
  const { stderr } = await review(t, ["requests", "list"], `${reviewer.slice(0, -1)}!`);
  assert.match(stderr, /COUNTERSIGN_TOKEN .*countersign tokens create reviewer --name NAME/);
});

test("[ours.cli.exit-codes] an unknown request exits with 1", async (t) => {
  const commands = [
    ["show", UNKNOWN],
    ["deny", UNKNOWN],
    ["approve", UNKNOWN, "--yes"],
    ["show", "../../healthz"],
    ["show", "\u001b"],
  ];
  for (const args of commands) {
    const outcome = await review(t, ["requests", ...args]);
    assert.equal(outcome.code, 1, `${args.join(" ")}: ${outcome.stderr}`);
    assertClear(outcome);
  }
});

/** Commands with an id that does not exist, and the command that lists what exists. */
const UNKNOWN_ROWS: Readonly<Record<string, string>> = {
  [`requests show ${UNKNOWN}`]: "requests list",
  [`grants show ${UNKNOWN}`]: "grants list",
  [`policy proposal ${UNKNOWN}`]: "policy proposals",
  [`policy reject ${UNKNOWN}`]: "policy proposals",
};

test("[ours.cli.exit-codes] an error about an unknown id names the list, also with npx", async (t) => {
  const admin = await makeToken(server.data, { kind: "reviewer", name: "admin", role: "admin" });
  const npm_config_user_agent = "npm/11.0.0";
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: admin, npm_config_user_agent };
  for (const [command, list] of Object.entries(UNKNOWN_ROWS)) {
    const { code, stderr } = await countersign(t, command.split(" "), { env });
    assert.equal(code, 1, stderr);
    assert.ok(stderr.includes(`; run npx countersign ${list} to see what exists`), stderr);
  }
});

test("[ours.cli.exit-codes] a second decision on a request exits with 1", async (t) => {
  const { id } = await agent.submit();
  assert.equal((await review(t, ["requests", "deny", id])).code, 0);
  const outcome = await review(t, ["requests", "approve", id, "--yes"]);
  assert.equal(outcome.code, 1);
  assertClear(outcome);
  assert.match(outcome.stderr, /already denied/);
});

test("[ours.cli.exit-codes] arguments other than the displayed ones exit with 1", async (t) => {
  const { id } = await agent.submit();
  const outcome = await review(t, ["requests", "approve", id, "--digest", "0".repeat(64)]);
  assert.equal(outcome.code, 1);
  assertClear(outcome);
  assert.equal((await agent.read(id)).status, "pending");
});

test("[ours.cli.exit-codes] a viewer can show a request, but a verdict exits with 1", async (t) => {
  const viewer = await makeToken(server.data, { kind: "reviewer", name: "guest", role: "viewer" });
  const { id } = await agent.submit();
  assert.equal((await review(t, ["requests", "show", id], viewer)).code, 0);
  const outcome = await review(t, ["requests", "approve", id, "--yes"], viewer);
  assert.equal(outcome.code, 1);
  assertClear(outcome);
  assert.equal((await agent.read(id)).status, "pending");
});

test("[ours.cli.exit-codes] a token that does not exist cannot be revoked, exit code 1", async (t) => {
  const outcome = await countersign(t, ["tokens", "revoke", UNKNOWN, "--data", server.data]);
  assert.equal(outcome.code, 1);
  assertClear(outcome);
});

test("[ours.cli.exit-codes] another role for a known reviewer exits with 1", async (t) => {
  const args = ["--name", "reviewer", "--role", "viewer", "--data", server.data];
  const outcome = await countersign(t, ["tokens", "create", "reviewer", ...args]);
  assert.equal(outcome.code, 1);
  assertClear(outcome);
});

test("[ours.cli.exit-codes] a data folder that cannot be created exits with 1", async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "file"), "");
  const data = join(folder, "file", "data");
  for (const args of [
    ["serve", "--port", "0"],
    ["tokens", "list"],
  ]) {
    const outcome = await countersign(t, [...args, "--data", data]);
    assert.equal(outcome.code, 1, outcome.stderr);
    assertClear(outcome);
  }
});

test("[ours.cli.exit-codes] a file as data folder exits with 1 and is reported", async (t) => {
  const data = join(temporaryFolder(t), "file");
  writeFileSync(data, "");
  const outcome = await countersign(t, ["serve", "--port", "0", "--data", data]);
  assert.equal(outcome.code, 1, outcome.stderr);
  assertClear(outcome);
  assert.ok(outcome.stderr.includes(`${data} is not a folder`), outcome.stderr);
});

test("[ours.cli.exit-codes] a data folder that the file system rejects exits with 1 and prints the reason", async (t) => {
  // Node's own recursive mkdir never returns from there.
  const data = "/proc/countersign/data";
  const outcome = await countersign(t, ["serve", "--port", "0", "--data", data]);
  assert.equal(outcome.code, 1, outcome.stderr);
  assertClear(outcome);
  assert.ok(outcome.stderr.includes(`${data} cannot be created: ENOENT`), outcome.stderr);
});

test("[ours.cli.exit-codes] an unreachable database is exit code 1, and the cause is printed once", async (t) => {
  const env = { COUNTERSIGN_DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" };
  const outcome = await countersign(t, ["audit", "verify"], { env });
  assert.equal(outcome.code, 1, outcome.stderr);
  assertClear(outcome);
  assert.equal(outcome.stderr.split("ECONNREFUSED").length, 2, outcome.stderr);
});

test("[ours.cli.exit-codes] a used port exits with 1 and prints the fix", async (t) => {
  const data = join(temporaryFolder(t), "data");
  const outcome = await countersign(t, ["serve", "--port", server.port, "--data", data]);
  assert.equal(outcome.code, 1);
  assertClear(outcome);
  assert.match(outcome.stderr, new RegExp(`port ${server.port} is in use.*; .*--port`));
});

test("[ours.cli.exit-codes] a server that does not listen is unreachable, exit code 3", async (t) => {
  const listener = createTcpServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, "close");
  for (const args of [["list"], ["watch"], ["show", UNKNOWN], ["approve", UNKNOWN, "--yes"]]) {
    const url = `http://127.0.0.1:${port}`;
    const outcome = await review(t, ["requests", ...args, "--url", url]);
    assert.equal(outcome.code, 3, outcome.stderr);
    assertClear(outcome);
    assert.ok(outcome.stderr.includes(url));
  }
});

const OTHER_SERVERS: Readonly<Record<string, readonly [status: number, body: string]>> = {
  "a page": [200, "<!doctype html><title>Router</title>"],
  "an empty JSON object": [200, "{}"],
  "another service's list": [200, '{"requests":[{"id":"7"}],"next":null,"now":"soon"}'],
  "another service's 404": [404, '{"message":"Not Found"}'],
  "a proxy's 502": [502, "Bad Gateway"],
  "a redirection": [302, ""],
};

for (const [what, [status, body]] of Object.entries(OTHER_SERVERS)) {
  test(`[ours.cli.exit-codes] ${what} in place of countersign's answer is unreachable, exit code 3`, async (t) => {
    const otherServer = createServer((_, response) => {
      response.writeHead(status, { location: "/login" }).end(body);
    }).listen(0, "127.0.0.1");
    t.after(() => otherServer.close());
    await once(otherServer, "listening");
    const url = `http://127.0.0.1:${(otherServer.address() as AddressInfo).port}`;
    for (const args of [["list"], ["show", UNKNOWN]]) {
      const outcome = await review(t, ["requests", ...args, "--url", url]);
      assert.equal(outcome.code, 3, outcome.stdout + outcome.stderr);
      assertClear(outcome);
    }
  });
}

test("[ours.cli.exit-codes] a reader that stops reading, like head, gets no stack trace", async (t) => {
  await agent.submit();
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: reviewer };
  for (const command of ["list", "watch"]) {
    const child = spawnCountersign(t, ["requests", command], { env });
    child.stopReading();
    const { code, stderr } = await child.ends();
    assert.deepEqual([code, stderr], [0, ""]);
  }
});
