import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { before, type TestContext, test } from "node:test";
import { exchange, makeToken } from "@countersign/testing/agents";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import {
  countersign,
  ownEnvironment,
  type Server,
  spawnCountersign,
  startServer,
} from "@countersign/testing/countersign";
import { main } from "../src/main.ts";
import { ASK_ALWAYS, readStarterPolicy, STARTER_POLICIES } from "../src/starter-policies.ts";
import { TestTerminal } from "./support/test-terminal.ts";
import { useInvitation } from "./support/use-invitation.ts";

const file = fileOwner();

before(() => {
  // The command runs in this process.
  const env = ownEnvironment();
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
});

/** Answers questions by their first words. `undefined` presses Ctrl-C. */
type Answers = Readonly<Record<string, string | undefined | ((seen: string) => Promise<void>)>>;

/** A user who acts elsewhere and waits where the answer is a function. */
class User extends TestTerminal {
  readonly #answers: Answers;

  constructor(answers: Answers) {
    super();
    this.#answers = answers;
  }

  async ask(question: string, signal?: AbortSignal): Promise<string> {
    const start = Object.keys(this.#answers).find((each) => question.startsWith(each));
    assert.ok(start !== undefined, `was asked: ${question}`);
    this.questions.push(start);
    const answer = this.#answers[start];
    if (typeof answer === "string") return answer;
    if (answer === undefined) throw new DOMException("Aborted with Ctrl+C", "AbortError");
    await answer(this.stderr);
    return new Promise((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason));
      if (signal?.aborted) reject(signal.reason);
    });
  }
}

function init(server: Server, user: User, ...args: readonly string[]): Promise<number> {
  return main(["init", "--data", server.data, "--no-browser", ...args], user);
}

async function createAccount(seen: string): Promise<void> {
  const [, url = "", token = ""] = /(http:\S+)\/setup#(\S+)/.exec(seen) ?? [];
  const response = await useInvitation(url, token, "ana");
  assert.equal(response.status, 201, await response.text());
}

function decideTest(t: TestContext, server: Server, verdict: "approve" | "deny") {
  return async (seen: string) => {
    const [, id = ""] = /\/inbox\/(\S+)$/m.exec(seen) ?? [];
    const token = await makeToken(server.data, { kind: "reviewer", name: "bo" });
    const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: token };
    const args = ["requests", verdict, id, ...(verdict === "approve" ? ["--yes"] : [])];
    const { code, stderr } = await countersign(t, args, { env });
    assert.equal(code, 0, stderr);
  };
}

function variables(user: User): { readonly url: string; readonly key: string } {
  const [, url = "", key = ""] =
    /^export COUNTERSIGN_URL=(\S+)\nexport COUNTERSIGN_API_KEY=(cs_inst_\S+)\n$/.exec(
      user.stdout,
    ) ?? [];
  return { url, key };
}

test("[ours.cli.init] with Enter for every answer, init leads to an account, an agent and a decision", async (t) => {
  const server = await startServer(t);
  const user = new User({
    "Waiting for your account": createAccount,
    "Number from 1 to 5": "",
    "Name of the agent": "",
    "Send a test request": "",
    "Waiting for your decision": decideTest(t, server, "approve"),
  });
  assert.equal(await init(server, user), 0, user.stderr);
  assert.match(user.stderr, /Your account exists\..*Approved\. An agent would now run the call\./s);
  const { url, key } = variables(user);
  assert.equal(url, server.url);
  assert.equal(
    (await exchange("GET", `${url}/v1/requests/${crypto.randomUUID()}`, key)).status,
    404,
  );
});

test("[ours.cli.init] after Ctrl-C, init continues with the step that it stopped at", async (t) => {
  const server = await startServer(t);
  const first = new User({
    "Waiting for your account": createAccount,
    "Number from 1 to 5": "2",
    "Name of the agent": "first",
    "Send a test request": undefined,
  });
  assert.equal(await init(server, first), 1, first.stderr);
  assert.match(
    first.stderr,
    /Stopped\. Completed steps are kept\. To continue: (npx )?countersign init/,
  );
  assert.match(first.stdout, /^export COUNTERSIGN_URL=/);

  const second = new User({
    "Create another agent": "y",
    "Name of the agent": "refund-bot",
    "Send a test request": "",
    "Waiting for your decision": decideTest(t, server, "deny"),
  });
  assert.equal(await init(server, second), 0, second.stderr);
  assert.match(second.stderr, /an account exists.*version 1 is active.*Created refund-bot/s);
  assert.match(second.stderr, /Denied\. An agent would not run the call\./);

  const third = new User({ "Create another agent": "" });
  assert.equal(await init(server, third), 0, third.stderr);
  assert.match(third.stderr, /the agent first exists/);
  assert.deepEqual([third.questions, third.stdout], [["Create another agent"], ""]);
});

test("[ours.cli.init] Enter skips each wait, and the setup link and the request stay usable", async (t) => {
  const server = await startServer(t);
  const user = new User({
    "Waiting for your account": "",
    "Number from 1 to 5": "3",
    "Name of the agent": "",
    "Send a test request": "",
    "Waiting for your decision": "",
  });
  assert.equal(await init(server, user), 0, user.stderr);
  assert.match(user.stderr, /Published the policy mcp-gateway/);
  assert.match(user.stderr, /Skipped\. The link still works\./);
  assert.match(user.stderr, /Skipped\. The request stays in the inbox for 10 minutes\./);
  await createAccount(user.stderr);
});

test("[ours.cli.init] init puts the operator into the groups of reviewers that the policy names", async (t) => {
  const server = await startServer(t);
  const user = new User({
    "Waiting for your account": createAccount,
    "Number from 1 to 5": "4",
    "Name of the agent": "",
    "Send a test request": "",
    "Waiting for your decision": "",
  });
  assert.equal(await init(server, user), 0, user.stderr);
  assert.match(user.stderr, /ana joined the groups finance,privacy, which decide by this policy\./);
  assert.match(user.stderr, /Published the policy support-agent/);
  const { stdout } = await countersign(t, ["agents", "list", "--data", server.data]);
  assert.match(stdout, /my-agent +support-bots/);
});

test("[ours.cli.init] without an account, init exits with 1 and does not publish a policy for a group of reviewers", async (t) => {
  const server = await startServer(t);
  const args = ["init", "--yes", "--policy", "database-operator", "--data", server.data];
  const first = await countersign(t, args);
  assert.equal(first.code, 1, first.stderr);
  assert.match(first.stderr, /Created my-agent\..*The setup is not complete: no policy is active/s);
  assert.match(first.stderr, /every call\.\nThe policy database-operator is not published: no /);
  assert.doesNotMatch(first.stderr, /Published|is set up/);
  const [, next = ""] = /Then run: (?:npx )?countersign (.+)/.exec(first.stderr) ?? [];
  assert.deepEqual(next.split(" "), args);
  await createAccount(first.stderr);
  const { code, stderr } = await countersign(t, args);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /ana joined the groups dba/);
  assert.match(stderr, /Invite another one:\n {4}http:\S+\/settings\/people\n/);
  assert.match(stderr, /Published the policy database-operator/);
  assert.match(stderr, /The server is set up\./);
});

test("[ours.cli.init] with an active policy, init keeps it and prints that it ignores --policy", async (t) => {
  const server = await startServer(t);
  const args = ["init", "--yes", "--data", server.data, "--policy"];
  assert.equal((await countersign(t, [...args, "coding-agent"])).code, 0);
  const { code, stderr } = await countersign(t, [...args, "mcp-gateway"]);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /version 1 is active\.\n.* first version only, so it ignores --policy\.\n/);
  assert.doesNotMatch(stderr, /Published/);
});

test("[ours.cli.init] with --json and without an account, the object names the policy that is not published", async (t) => {
  const server = await startServer(t);
  const args = ["init", "--yes", "--json", "--policy", "support-agent", "--data", server.data];
  const { code, stdout, stderr } = await countersign(t, args);
  assert.deepEqual([code, stderr], [1, ""]);
  const { policy, policy_not_published: obstacle, agent } = JSON.parse(stdout);
  assert.deepEqual([policy, agent.name], [undefined, "my-agent"]);
  assert.match(
    obstacle,
    /no reviewer is in the groups finance,privacy\.\nCreate your account: http/,
  );
});

async function groupsOf(t: TestContext, server: Server): Promise<Record<string, string[]>> {
  const args = ["reviewers", "list", "--json", "--data", server.data];
  const { stdout } = await countersign(t, args);
  const reviewers = JSON.parse(stdout) as { readonly name: string; readonly groups: string[] }[];
  return Object.fromEntries(reviewers.map(({ name, groups }) => [name, groups]));
}

test("[ours.cli.init] with several reviewers, init gives none of them the groups of the policy", async (t) => {
  const server = await startServer(t);
  for (const name of ["ana", "bo"]) {
    await makeToken(server.data, { kind: "reviewer", name, groups: ["ops"] });
  }
  const args = ["init", "--yes", "--policy", "support-agent", "--data", server.data];
  const first = await countersign(t, args);
  assert.equal(first.code, 1, first.stderr);
  const set = "reviewers set NAME --groups finance,privacy --data ";
  assert.ok(first.stderr.includes(set), first.stderr);
  assert.deepEqual(await groupsOf(t, server), { ana: ["ops"], bo: ["ops"] });

  const groups = ["--groups", "finance,ops,privacy", "--data", server.data];
  assert.equal((await countersign(t, ["reviewers", "set", "bo", ...groups])).code, 0);
  const { code, stderr } = await countersign(t, args);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /Published the policy support-agent/);
  assert.doesNotMatch(stderr, /joined/);
  assert.deepEqual(await groupsOf(t, server), { ana: ["ops"], bo: ["finance", "ops", "privacy"] });
});

test("[ours.cli.init] only the active reviewer who can decide joins the missing groups", async (t) => {
  const server = await startServer(t);
  const { data } = server;
  await makeToken(data, { kind: "reviewer", name: "aaron", role: "viewer", groups: ["privacy"] });
  await makeToken(data, { kind: "reviewer", name: "abot", isBot: true });
  await makeToken(data, { kind: "reviewer", name: "adele" });
  await countersign(t, ["reviewers", "remove", "adele", "--data", data]);
  const token = await makeToken(data, { kind: "reviewer", name: "zoe", role: "admin" });
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: token };
  const invited = await countersign(t, ["invitations", "create", "adam"], { env });
  const [, secret = ""] = /#(\S+)/.exec(invited.stdout) ?? [];
  assert.equal((await useInvitation(server.url, secret, "adam")).status, 201);
  const disabled = await countersign(t, ["people", "disable", "adam", "--data", data]);
  assert.equal(disabled.code, 0, disabled.stderr);
  await countersign(t, ["reviewers", "set", "zoe", "--groups", "finance", "--data", data]);

  const args = ["init", "--yes", "--policy", "support-agent", "--data", data];
  const { code, stderr } = await countersign(t, args);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /zoe joined the groups privacy,/);
  const { aaron, abot, adam, zoe } = await groupsOf(t, server);
  assert.deepEqual([aaron, abot, adam, zoe], [["privacy"], [], [], ["finance", "privacy"]]);
});

test("[ours.cli.init] a policy for a group of agents needs an agent in this group", async (t) => {
  const server = await startServer(t);
  const init = ["init", "--yes", "--data", server.data];
  assert.equal((await countersign(t, init)).code, 0);
  const again = await countersign(t, [...init, "--policy", "mcp-gateway"]);
  assert.equal(again.code, 1, again.stderr);
  assert.match(again.stderr, /policy mcp-gateway is not published: no agent is in the group mcp-/);
  const [, next = ""] = /run: (?:npx )?countersign (.+)/.exec(again.stderr) ?? [];
  const last = await countersign(t, next.split(" "));
  assert.equal(last.code, 0, last.stderr);
  assert.match(last.stderr, /Created NAME\..*Published the policy mcp-gateway/s);
});

test("[ours.cli.init] init offers every example policy for a project, with the groups that it names", () => {
  const folder = join(import.meta.dirname, "../../../examples/policies");
  const files = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
  // The baseline policy is for the whole server.
  const examples = files.map((name) => basename(name, ".yaml")).filter((name) => name !== "floor");
  const offered = STARTER_POLICIES.filter(({ name }) => name !== ASK_ALWAYS.name);
  assert.deepEqual(offered.map(({ name }) => name).sort(), examples.sort());
  for (const { name, agentGroup, reviewerGroups } of offered) {
    const [source = ""] = readStarterPolicy(name).split(/^tests:$/m);
    const rules = source.replaceAll(/^ *#.*$/gm, "");
    const named = (pattern: RegExp) => {
      return [...new Set([...rules.matchAll(pattern)].map(([, group = ""]) => group))].sort();
    };
    assert.deepEqual(named(/from: group:([\w-]+)/g), [...reviewerGroups].sort(), name);
    assert.deepEqual(
      named(/instance: \{ group: ([\w-]+) \}/g),
      agentGroup === undefined ? [] : [agentGroup],
      name,
    );
  }
});

test("[ours.cli.init] without a terminal, init prints the options that replace the questions", async (t) => {
  const data = join(temporaryFolder(t), "data");
  const { code, stdout, stderr } = await countersign(t, ["init", "--data", data]);
  assert.deepEqual([code, stdout], [2, ""]);
  assert.match(
    stderr,
    /^countersign: init asks questions .* --yes, and --policy NAME and --agent NAME /,
  );
  const wrong = await countersign(t, ["init", "--yes", "--policy", "none", "--data", data]);
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /--policy must be one of ask, coding-agent, /);
});

test("[ours.cli.init] --yes --json prints the link, the policy and the agent as one object", async (t) => {
  const server = await startServer(t);
  const args = ["init", "--yes", "--json", "--policy", "mcp-gateway", "--agent", "ci"];
  const { code, stdout, stderr } = await countersign(t, [...args, "--data", server.data]);
  assert.deepEqual([code, stderr], [0, ""]);
  const result = JSON.parse(stdout) as {
    readonly url: string;
    readonly setup_url: string;
    readonly policy: string;
    readonly agent: { readonly id: string; readonly name: string; readonly key: string };
  };
  assert.deepEqual(
    [result.url, result.policy, result.agent.name],
    [server.url, "mcp-gateway", "ci"],
  );
  await createAccount(result.setup_url);
  const again = await countersign(t, [...args, "--data", server.data]);
  const { setup_url: link, policy, agent } = JSON.parse(again.stdout) as typeof result;
  assert.deepEqual([link, policy, agent], [undefined, undefined, undefined]);
});

test("[ours.cli.init] init starts a server if none runs, and serves until it is stopped", async (t) => {
  const cwd = temporaryFolder(t);
  const args = ["init", "--yes", "--port", "0", "--policy", "database-operator"];
  const child = spawnCountersign(t, args, { cwd });
  await child.prints("stderr", /The policy database-operator is not published/);
  await child.prints("stderr", /The server runs in this terminal\. Press Ctrl-C to stop it\.\n/);
  const [, url = ""] = await child.prints("stdout", /^export COUNTERSIGN_URL=(\S+)$/m);
  assert.equal((await fetch(`${url}/readyz`)).status, 200);
  const { code, stderr } = await child.end("SIGINT");
  assert.equal(code, 1, stderr);
});

test("[ours.cli.init] init --json does not start a server", async () => {
  const data = join(temporaryFolder(file), "data");
  const { code, stderr } = await countersign(file, ["init", "--yes", "--json", "--data", data]);
  assert.equal(code, 1);
  assert.match(stderr, /"code":"no_server".+; start it with: (npx )?countersign --data \//);
});
