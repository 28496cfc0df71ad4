/** Directories that plan and apply reject, in whole or in part. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { makeToken } from "@countersign/testing/agents";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { countersign, type Server, startServer } from "@countersign/testing/countersign";
import { main } from "../src/main.ts";
import { directoryOf, expectExit, newProject } from "./support/apply-project.ts";
import { TestTerminal } from "./support/test-terminal.ts";

const file = fileOwner();
let server: Server;

before(async () => {
  server = await startServer(file);
});

interface Listed {
  readonly reviewers: readonly { readonly name: string; readonly groups: readonly string[] }[];
}

test("[ours.apply.files] all errors of all files are reported with their lines, and nothing is applied", async (t) => {
  const shop = await newProject(server, "files");
  const directory = directoryOf(t, {
    "a.yaml": "kind: Bot\nname: ci\nrole: reviewer\n---\nkind: Bot\nname: ci\nrole: king\n",
    "b.yaml": "kind: Group\nname: release\nreviewrs: [ben]\n---\nkind: Team\nname: x\n",
    "c.yaml": "kind: Channel\nname: ops\ntype: slack\n",
    "d.yaml": "kind: Policy\npolicy_file: rules/policy.yaml\n",
    "rules/policy.yaml": "version: 1\nrules:\n  - { id: a, then: maybe }\n",
    "e.yaml": "kind: Agent\nname: x\nname: y\n",
  });
  const { stdout, stderr } = await expectExit(shop.run(t, "apply", "-f", directory, "--yes"), 1);
  assert.equal(stdout, "");
  const lines = stderr.replaceAll(`${directory}/`, "");
  for (const expected of [
    /^a\.yaml:7:1: role must be one of viewer, .* \(role\)$/m,
    /^b\.yaml:3:1: reviewrs is not a known member; remove it \(reviewrs\)$/m,
    /^b\.yaml:5:1: kind must be one of Project, Reviewer, .* \(kind\)$/m,
    /^c\.yaml:1:1: a channel of the type slack needs url or url_from$/m,
    /^e\.yaml:3:1: Map keys must be unique$/m,
    /^rules\/policy\.yaml:3:\d+: .+ \(rules\[0\]\.then\)$/m,
    /has 6 errors$/m,
  ]) {
    assert.match(lines, expected);
  }
  const json = await expectExit(shop.run(t, "plan", "-f", directory, "--json"), 1);
  assert.equal(JSON.parse(json.stdout + json.stderr).error.findings.length, 6);
  const { reviewers } = await shop.call<Listed>("GET", "reviewers");
  assert.deepEqual(
    reviewers.map(({ name }) => name),
    ["ana"],
  );
});

test("[ours.apply.files] unknown names, equal names and a changed type are errors at their lines", async (t) => {
  const shop = await newProject(server, "names");
  for (const groups of [["bots"], []]) {
    await shop.call("POST", "instances", { name: "twin", groups });
  }
  const channel = { name: "ops", kind: "teams", url: "https://teams.example.com/a" };
  await shop.call("POST", "channels", channel);
  const directory = directoryOf(t, {
    "all.yaml": `kind: Group
name: release
reviewers:
  - ana
  - zoe
agents: [twin]
---
kind: Bot
name: ana
role: admin
---
kind: Channel
name: ops
type: slack
url: https://hooks.example.com/a
`,
  });
  const group = directoryOf(t, { "a.yaml": "kind: Group\nname: bots\nreviewers: []\n" });
  const shown = await expectExit(shop.run(t, "plan", "-f", group), 0);
  assert.match(
    shown.stdout,
    /^Note: Group bots: several agents have the name twin; not compared\.$/m,
  );
  const { stderr } = await expectExit(shop.run(t, "plan", "-f", directory), 1);
  assert.match(stderr, /all\.yaml:5:5: there is no reviewer zoe; add a document/);
  assert.match(stderr, /all\.yaml:6:10: 2 agents have the name twin/);
  assert.match(stderr, /all\.yaml:8:1: ana is a person on the server/);
  assert.match(stderr, /all\.yaml:14:1: the channel ops has the type teams, which cannot change/);
});

test("[ours.apply.project] a directory of another project is rejected", async (t) => {
  const shop = await newProject(server, "mine");
  const directory = directoryOf(t, { "project.yaml": "kind: Project\nname: theirs\n" });
  const { stderr } = await expectExit(shop.run(t, "apply", "-f", directory, "--yes"), 1);
  assert.match(stderr, /project\.yaml:2:1: the token is for the project mine/);
});

test("[ours.apply.failure] apply stops at the first failure, and the next apply continues", async (t) => {
  const shop = await newProject(server, "failure");
  const secrets = temporaryFolder(t);
  const botOf = (name: string, role: string) => `kind: Bot\nname: ${name}\nrole: ${role}\n`;
  const directory = directoryOf(t, {
    "1.yaml": botOf("first", "viewer"),
    // An admin cannot create an operator.
    "2.yaml": botOf("second", "operator"),
    "3.yaml": botOf("third", "viewer"),
  });
  const args = ["apply", "-f", directory, "--yes", "--secrets", secrets];
  const { stdout, stderr } = await expectExit(shop.run(t, ...args), 1);
  assert.equal(stdout, "+ Bot first: done\n");
  assert.match(stderr, /^\+ Bot third: not applied$/m);
  assert.match(stderr, /\+ Bot second: You cannot .*\(1 applied, 0 waiting, 2 not\)$/m);
  assert.ok(!existsSync(join(secrets, "bot-second.token")));

  const { stdout: json } = await expectExit(shop.run(t, ...args, "--json"), 1);
  const outcome = JSON.parse(json);
  assert.deepEqual([outcome.applied, outcome.failed.code], [[], "forbidden"]);
  const repaired = directoryOf(t, {
    "all.yaml": [botOf("first", "viewer"), botOf("third", "viewer")].join("---\n"),
  });
  const again = shop.run(t, "apply", "-f", repaired, "--yes", "--secrets", secrets);
  assert.equal((await expectExit(again, 0)).stdout, "+ Bot third: done\n1 applied.\n");
});

test("[ours.apply.secrets] apply does nothing without the secrets that it reads and a place for those that it creates", async (t) => {
  const shop = await newProject(server, "secrets");
  const channels = "kind: Channel\nname: ops\ntype: slack\nurl_from: { env: NOT_SET }\n";
  const reads = directoryOf(t, { "a.yaml": channels, "b.yaml": "kind: Agent\nname: a\n" });
  const secrets = ["--secrets", temporaryFolder(t)];
  const unset = await expectExit(shop.run(t, "apply", "-f", reads, "--yes", ...secrets), 2);
  assert.match(unset.stderr, /Channel ops needs the variable NOT_SET, which is not there/);
  const writes = directoryOf(t, { "b.yaml": "kind: Agent\nname: a\n" });
  const nowhere = await expectExit(shop.run(t, "apply", "-f", writes, "--yes"), 2);
  assert.match(nowhere.stderr, /Agent a creates a secret; give --secrets DIR/);
  const taken = ["--secrets", directoryOf(t, { "agent-a.token": "precious" })];
  const exists = await expectExit(shop.run(t, "apply", "-f", writes, "--yes", ...taken), 2);
  assert.match(exists.stderr, /agent-a\.token exists; move it/);
  const unasked = await expectExit(shop.run(t, "apply", "-f", writes, ...secrets), 2);
  assert.match(unasked.stderr, /give --yes/);
  const { instances } = await shop.call<{ instances: object[] }>("GET", "instances");
  assert.deepEqual(instances, []);
});

class User extends TestTerminal {
  readonly #answer: string;

  constructor(answer: string) {
    super();
    this.#answer = answer;
  }

  async ask(question: string): Promise<string> {
    this.questions.push(question);
    return this.#answer;
  }
}

test("[ours.apply.create] apply shows the plan, and changes the project only after yes", async (t) => {
  const shop = await newProject(server, "asked");
  const directory = directoryOf(t, { "a.yaml": "kind: Agent\nname: a\n" });
  process.env.COUNTERSIGN_TOKEN = shop.token;
  t.after(() => {
    delete process.env.COUNTERSIGN_TOKEN;
  });
  const args = ["apply", "-f", directory, "--url", server.url, "--secrets", temporaryFolder(t)];
  for (const [answer, code, agents] of [
    ["", 1, 0],
    ["y", 0, 1],
  ] as const) {
    const user = new User(answer);
    assert.equal(await main(args, user), code);
    assert.deepEqual(user.questions, ["Apply 1 step? [y/N] "]);
    assert.match(user.stderr, /^\+ Agent a$/m);
    const { instances } = await shop.call<{ instances: object[] }>("GET", "instances");
    assert.equal(instances.length, agents);
  }
});

test("[ours.apply.prune] apply deletes only kinds of the directory, and not the reviewer of the token", async (t) => {
  const shop = await newProject(server, "prune");
  await shop.call("POST", "instances", { name: "kept" });
  await makeToken(server.data, { kind: "reviewer", name: "eve", project: "prune" });
  await shop.call("POST", "tokens", { name: "ci" });
  const directory = directoryOf(t, {
    "a.yaml": "kind: Reviewer\nname: eve\nrole: viewer\n",
    "b.yaml": "kind: Bot\nname: new\nrole: viewer\n",
  });
  const args = ["-f", directory, "--prune", "--yes", "--secrets", temporaryFolder(t)];
  const { stdout } = await expectExit(shop.run(t, "apply", ...args), 0);
  assert.match(stdout, /^- Bot ci: done$/m);
  const { reviewers } = await shop.call<Listed>("GET", "reviewers");
  assert.deepEqual(
    reviewers.map(({ name }) => name),
    ["ana", "eve", "new"],
  );
  const { instances } = await shop.call<{ instances: object[] }>("GET", "instances");
  assert.equal(instances.length, 1);
});

test("[ours.apply.two-person] a policy that needs two people is proposed, and waits for the second person", async (t) => {
  const shop = await newProject(server, "two");
  const policyOf = (verb: string) =>
    `version: 1\ntwo_person: true\nrules:\n  - { id: a, match: { tool: a }, then: ${verb} }\n`;
  const files = (verb: string) => ({
    "all.yaml":
      "kind: Policy\npolicy_file: policy.txt\n---\nkind: Group\nname: bots\nagents: [a]\n",
    "policy.txt": policyOf(verb),
  });
  await shop.call("POST", "instances", { name: "a" });
  await expectExit(shop.run(t, "apply", "-f", directoryOf(t, files("deny")), "--yes"), 0);

  const directory = directoryOf(t, files("ask"));
  const planned = await expectExit(shop.run(t, "plan", "-f", directory), 4);
  assert.match(planned.stdout, /A second person must publish it: apply only proposes it\./);
  const proposed = await expectExit(shop.run(t, "apply", "-f", directory, "--yes"), 0);
  const waits = /~ Policy project policy: waits for another person to publish the proposal (\S+)/;
  const [, id = ""] = waits.exec(proposed.stdout) ?? [];
  assert.match(proposed.stdout, /^0 applied, 1 waiting for people\.$/m);
  const { source } = await shop.call<{ source: string }>("GET", "policy");
  assert.equal(source, policyOf("deny"));

  const waiting = await expectExit(shop.run(t, "plan", "-f", directory), 4);
  assert.match(waiting.stdout, waits);
  const again = await expectExit(shop.run(t, "apply", "-f", directory, "--yes"), 0);
  assert.equal(again.stdout, "0 applied.\n");

  const agents = directoryOf(t, { "a.yaml": "kind: Group\nname: bots\n" });
  const left = await expectExit(shop.run(t, "apply", "-f", agents, "--yes"), 0);
  assert.match(left.stdout, /^~ Agent a: waits for another person to apply the same change$/m);
  const still = await expectExit(shop.run(t, "plan", "-f", agents), 4);
  assert.match(still.stdout, /^~ Agent a: waits for another person/m);

  const second = { kind: "reviewer", name: "ben", role: "admin", project: "two" } as const;
  const token = await makeToken(server.data, second);
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: token };
  const publish = ["policy", "publish", "--proposal", id, "--yes"];
  await expectExit(countersign(t, publish, { env }), 0);
  await expectExit(countersign(t, ["apply", "-f", agents, "--yes"], { env }), 0);
  await expectExit(shop.run(t, "plan", "-f", agents), 0);
});

test("[ours.apply.two-person] the token of a bot cannot propose a policy that needs two people", async (t) => {
  const shop = await newProject(server, "two-bots");
  const policyOf = (verb: string) =>
    `version: 1\ntwo_person: true\nrules:\n  - { id: a, match: { tool: a }, then: ${verb} }\n`;
  await shop.call("POST", "policy", { source: policyOf("deny"), expected_number: 0 });
  const bot = { name: "ci", role: "admin" };
  const { token } = await shop.call<{ token: string }>("POST", "tokens", bot);
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: token };
  const files = (verb: string) => ({
    "a.yaml": "kind: Policy\npolicy_file: policy.txt\n",
    "policy.txt": policyOf(verb),
  });
  const change = ["apply", "-f", directoryOf(t, files("ask")), "--yes"];
  const { stderr } = await expectExit(countersign(t, change, { env }), 1);
  assert.match(stderr, /two people; bots do not count\. \(0 applied, 0 waiting, 1 not\)$/m);
  const same = ["apply", "-f", directoryOf(t, files("deny")), "--yes"];
  await expectExit(countersign(t, same, { env }), 0);
});
