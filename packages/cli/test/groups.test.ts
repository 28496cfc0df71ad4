import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, type TestContext, test } from "node:test";
import { makeToken, newAgent, provision } from "@countersign/testing/agents";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { countersign, type Server, startServer } from "@countersign/testing/countersign";

const file = fileOwner();
let server: Server;
let admin: string;

before(async () => {
  server = await startServer(file);
  admin = await makeToken(server.data, { kind: "reviewer", name: "root", role: "admin" });
  await makeToken(server.data, { kind: "reviewer", name: "ana" });
});

/** @returns stdout of a command on the database that is done and has nothing to remark */
async function onData(t: TestContext, ...args: readonly string[]): Promise<string> {
  const outcome = await countersign(t, [...args, "--data", server.data]);
  assert.deepEqual([outcome.code, outcome.stderr], [0, ""]);
  return outcome.stdout;
}

async function asAdmin(t: TestContext, ...args: readonly string[]) {
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: admin };
  return countersign(t, args, { env });
}

async function instanceIds(t: TestContext): Promise<string[]> {
  const { stdout } = await asAdmin(t, "instances", "list", "--json");
  return (JSON.parse(stdout) as { id: string }[]).map(({ id }) => id);
}

test("[ours.groups.reviewers] [ours.cli.reviewers] a reviewer's token is made with every role and with groups, and both are listed", async (t) => {
  for (const role of ["viewer", "reviewer", "editor", "auditor", "admin", "operator"]) {
    const order = ["--name", `a-${role}`, "--role", role, "--groups", "b, a", "--project", "p"];
    await onData(t, "tokens", "create", "reviewer", ...order);
    const list = await onData(t, "tokens", "list");
    assert.match(list, new RegExp(`^\\S+ +${role} +a-${role} +p +live$`, "m"));
  }
  const list = await onData(t, "reviewers", "list", "--project", "p");
  assert.equal(
    list,
    `NAME        PROJECT  ROLE      KIND    GROUPS
a-admin     p        admin     person  a,b
a-auditor   p        auditor   person  a,b
a-editor    p        editor    person  a,b
a-operator  p        operator  person  a,b
a-reviewer  p        reviewer  person  a,b
a-viewer    p        viewer    person  a,b
`,
  );
  assert.match(await onData(t, "reviewers", "list"), /^ana +default +reviewer +person +-$/m);
});

test("[ours.cli.reviewers] agents set changes the given values and no others", async (t) => {
  await onData(t, "tokens", "create", "reviewer", "--name", "mover", "--groups", "dba");
  const set = ["reviewers", "set", "mover"];
  const output = await onData(t, ...set, "--role", "admin");
  assert.equal(output, "mover has role admin, groups dba.\n");
  assert.equal(await onData(t, ...set, "--groups", ""), "mover has role admin, groups -.\n");
  const json = JSON.parse(await onData(t, ...set, "--groups", "x,y", "--json")) as object;
  const rest = { name: "mover", project: "default", role: "admin", groups: ["x", "y"] };
  assert.deepEqual({ ...json, id: "" }, { id: "", ...rest });
  const listed = JSON.parse(await onData(t, "reviewers", "list", "--json")) as object[];
  assert.ok(listed.some((one) => JSON.stringify(one) === JSON.stringify(json)));
});

test("[ours.cli.reviewers] a wrong command is reported and changes nothing", async (t) => {
  const before = await onData(t, "reviewers", "list");
  const cases: readonly (readonly [string, number, RegExp])[] = [
    ["reviewers set ana", 2, /give --role ROLE or --groups/],
    [
      "reviewers set ana --role king",
      2,
      /--role must be one of viewer, reviewer, editor, auditor, admin or operator/,
    ],
    ["reviewers set ana --groups A", 2, /--groups must be names/],
    ["reviewers set absent --groups a", 1, /The project has no reviewer "absent"/],
    ["reviewers set ana --groups a --project nowhere", 1, /No project has the name "nowhere"/],
    ["reviewers list --project nowhere", 1, /No project has the name "nowhere"/],
    ["tokens create reviewer --name ana --groups a", 1, /is in no group; change it with/],
    ["tokens create reviewer --name zoe --groups A", 2, /--groups must be names/],
    ["tokens create provisioner --name p --groups a", 2, /require the kind reviewer/],
    ["tokens create provisioner --name p --bot", 2, /require the kind reviewer/],
    ["tokens create provisioner --name p --scopes read", 2, /require the kind reviewer/],
    [
      "tokens create reviewer --name ana --bot",
      1,
      /ana is a person\. Choose another name for the bot/,
    ],
    ["tokens create reviewer --name ana --scopes read,write", 2, /--scopes must be .*"write"/],
    ["tokens create reviewer --name ana --scopes read,,", 2, /--scopes must be of .*not ""/],
    ["reviewers remove absent", 1, /The project has no reviewer "absent"/],
  ];
  for (const [command, code, message] of cases) {
    const outcome = await countersign(t, [...command.split(" "), "--data", server.data]);
    assert.equal(outcome.code, code, command);
    assert.match(outcome.stderr, message);
  }
  assert.equal(await onData(t, "reviewers", "list"), before);
  const data = join(temporaryFolder(t), "mistyped");
  for (const args of [["list"], ["set", "ana", "--groups", "a"]]) {
    const { code, stderr } = await countersign(t, ["reviewers", ...args, "--data", data]);
    assert.equal(code, 1);
    assert.ok(stderr.startsWith(`countersign: no database found in ${data}; `), stderr);
  }
});

test("[ours.people.bots] [ours.cli.reviewers] a bot's token is made with scopes, and both are listed", async (t) => {
  const order = ["--name", "robot", "--bot", "--scopes", "read, decide:dba", "--project", "bots"];
  const token = (await onData(t, "tokens", "create", "reviewer", ...order)).trim();
  assert.match(token, /^cs_rev_/);
  const list = await onData(t, "tokens", "list");
  assert.match(list, /^ID +KIND +NAME +PROJECT +STATE +SCOPES$/m);
  assert.match(list, /^\S+ +reviewer \(bot\) +robot +bots +live +decide:dba,read$/m);
  const listed = JSON.parse(await onData(t, "tokens", "list", "--json")) as object[];
  const [robot] = listed.filter((each) => "name" in each && each.name === "robot") as [
    { bot: boolean; scopes: string[] },
  ];
  assert.deepEqual([robot.bot, robot.scopes], [true, ["decide:dba", "read"]]);
  assert.match(await onData(t, "reviewers", "list"), /^robot +bots +reviewer +bot +-$/m);
  // A token for a known bot needs no --bot.
  await onData(t, "tokens", "create", "reviewer", "--name", "robot", "--project", "bots");
});

test("[ours.people.removed] [ours.cli.reviewers] remove revokes the tokens, is shown in the list, and can be repeated", async (t) => {
  await onData(t, "tokens", "create", "reviewer", "--name", "leaver", "--project", "p");
  for (const _ of ["once", "again"]) {
    const output = await onData(t, "reviewers", "remove", "leaver", "--project", "p");
    assert.equal(output, "Removed leaver.\n");
  }
  assert.match(await onData(t, "reviewers", "list"), /^leaver +p +removed +person +-$/m);
  assert.match(await onData(t, "tokens", "list"), /^\S+ +reviewer +leaver +p +revoked /m);
  const json = JSON.parse(await onData(t, "reviewers", "list", "--json")) as object[];
  assert.ok(json.some((each) => "removed_at" in each));
});

test("[ours.cli.instances] instances are listed and set over the reviewer API", async (t) => {
  const before = await asAdmin(t, "instances", "list");
  assert.equal(
    before.stdout,
    "There are no agents. Create one with: countersign agents create NAME\n",
  );
  await newAgent(server);
  const [id = ""] = await instanceIds(t);
  const set = ["instances", "set", id];
  const grouped = await asAdmin(t, ...set, "--groups", "bots,eu", "--owner", "ana");
  assert.deepEqual([grouped.code, grouped.stderr], [0, ""]);
  assert.equal(grouped.stdout, `${id} has groups bots,eu, owner ana.\n`);
  const { stdout } = await asAdmin(t, "instances", "list");
  assert.match(stdout, /^ID +NAME +GROUPS +OWNER\n/);
  assert.match(stdout, new RegExp(`^${id}  \\S+ +bots,eu +ana$`, "m"));
  const cleared = await asAdmin(t, ...set, "--groups", "", "--owner", "");
  assert.equal(cleared.stdout, `${id} has groups -, owner -.\n`);
});

test("[ours.cli.instances] a limit is reported, and so is a refusal", async (t) => {
  const provisioner = await makeToken(server.data, { kind: "provisioner" });
  for (const key of ["one", "two"]) await provision(server, provisioner, key);
  const [id = "", second] = await instanceIds(t);
  assert.notEqual(second, undefined);
  const { stdout, stderr } = await asAdmin(t, "instances", "list", "--limit", "1");
  assert.equal(stdout.trimEnd().split("\n").length, 2);
  assert.equal(stderr, "Only the first 1 are shown. Raise --limit to see more.\n");
  const refusals: readonly (readonly [string, number, RegExp])[] = [
    [`instances set ${id}`, 2, /give --groups A,B, --owner NAME or --delivery FILE/],
    [`instances set ${id} --owner absent`, 1, /owner must be the name of a reviewer/],
    [`instances set ${id} --groups A`, 2, /--groups must be names/],
    [
      "instances set x --groups a",
      1,
      /not found, .+ access; run (npx )?countersign agents list to .+--url$/m,
    ],
    ["instances list --limit 0", 2, /--limit must be a whole number/],
  ];
  for (const [command, code, message] of refusals) {
    const outcome = await asAdmin(t, ...command.split(" "));
    assert.equal(outcome.code, code, command);
    assert.match(outcome.stderr, message);
  }
});

test("[ours.policy.two-person.instances] instances set under two_person prints the proposal and how it takes effect", async (t) => {
  const provisioner = await makeToken(server.data, { kind: "provisioner", project: "two" });
  const people = await Promise.all(
    ["one", "two"].map((name) =>
      makeToken(server.data, { kind: "reviewer", name, role: "editor", project: "two" }),
    ),
  );
  const [first = "", second = ""] = people;
  const as = (token: string, ...args: readonly string[]) =>
    countersign(t, args, { env: { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: token } });
  await provision(server, provisioner, "two-person");
  const listed = await as(first, "instances", "list", "--json");
  const [{ id }] = JSON.parse(listed.stdout) as [{ id: string }];
  const policy = join(temporaryFolder(t), "policy.yaml");
  writeFileSync(policy, "version: 1\ntwo_person: true\nrules: []\n");
  const published = await as(first, "policy", "publish", policy, "--expect", "0");
  assert.equal(published.code, 0, published.stderr);
  const proposed = await as(first, "instances", "set", id, "--groups", "prod");
  assert.equal(
    proposed.stdout,
    `${id} has groups -, owner -.
Proposed: groups prod, owner -. Policy takes two people, so the change
takes effect when another person runs this command with the same values.
`,
  );
  const confirmed = await as(second, "instances", "set", id, "--groups", "prod");
  assert.equal(confirmed.stdout, `${id} has groups prod, owner -.\n`);
});
