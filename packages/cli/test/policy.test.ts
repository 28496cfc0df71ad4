import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, type TestContext, test } from "node:test";
import { makeToken, newAgent } from "@countersign/testing/agents";
import { fileOwner, type Outcome, temporaryFolder } from "@countersign/testing/child";
import { countersign, type Server, startServer } from "@countersign/testing/countersign";
import { main } from "../src/main.ts";
import { TestTerminal } from "./support/test-terminal.ts";

const file = fileOwner();
let server: Server;

before(async () => {
  server = await startServer(file);
});

function policyWithRule(verb: string, tool: string): string {
  return `version: 1
rules:
  - id: ${verb}-it
    match: { tool: "${tool}" }
    then: ${verb}
tests:
  - name: the tool
    given: { tool: "${tool}", args: {} }
    expect: { then: ${verb}, because: ${verb}-it }
`;
}

const FAULTY = `version: 1
rules:
  - id: one
    match: { tool: "x" }
    when: tol.startsWith("x")
    then: deny
  - id: two
    match: { tool: "y" }
    then: perhaps
`;

const UNKNOWN_GROUP_POLICY = `version: 1
rules:
  - id: ask-them
    match: { tool: "db.*" }
    then: ask
    ask: { from: ["group:nobody"] }
`;

interface Desk {
  /** Writes a policy to a file, and names it. */
  write(source: string, name?: string): string;
  run(...args: readonly string[]): Promise<Outcome>;
  readonly token: string;
}

/** An editor in a project of their own. */
async function startDesk(t: TestContext, role: "editor" | "operator" = "editor"): Promise<Desk> {
  const folder = temporaryFolder(t);
  const token = await makeToken(server.data, {
    kind: "reviewer",
    name: "Ed",
    role,
    project: t.name.slice(0, 60),
  });
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: token };
  return {
    token,
    write(source, name = "policy.yaml") {
      writeFileSync(join(folder, name), source);
      return name;
    },
    run: (...args) => countersign(t, ["policy", ...args], { env, cwd: folder }),
  };
}

/** @returns stdout of a command that is done */
function done({ code, stdout, stderr }: Outcome): string {
  assert.equal(code, 0, stdout + stderr);
  return stdout;
}

test("[ours.cli.policy.offline] errors are printed as FILE:LINE:COLUMN without a server, exit code 1", async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "bad.yaml"), FAULTY);
  writeFileSync(join(folder, "good.yaml"), policyWithRule("deny", "x"));
  const run = (...args: readonly string[]) => countersign(t, ["policy", ...args], { cwd: folder });
  for (const command of ["check", "test"]) {
    const { code, stdout, stderr } = await run(command, "bad.yaml");
    assert.deepEqual([code, stderr], [1, ""]);
    assert.match(
      stdout,
      /^bad\.yaml:5:\d+: .*tol.* \(rules\[0\]\.when\)\nbad\.yaml:9:\d+: [^\n]+\n$/,
    );
    const json = await run(command, "bad.yaml", "--json");
    assert.equal(json.code, 1);
    const { findings } = JSON.parse(json.stdout) as { findings: { line: number }[] };
    assert.deepEqual(
      findings.map(({ line }) => line),
      [5, 9],
    );
  }
  const good = await run("check", "good.yaml");
  assert.equal(done(good), "good.yaml: 1 rule, 1 test passed\n");
  assert.equal(good.stderr, "The groups were not checked: set COUNTERSIGN_TOKEN.\n");
  assert.equal(done(await run("test", "good.yaml")), "1 test: 1 passed, 0 failed\n");
  writeFileSync(join(folder, "approves.yaml"), policyWithRule("approve", "x"));
  done(await run("check", "approves.yaml"));
  assert.equal((await run("check", "approves.yaml", "--floor")).code, 1);
});

test("[ours.cli.policy.offline] a failed test is printed with its place, the expected and the actual result", async (t) => {
  const folder = temporaryFolder(t);
  const run = (...args: readonly string[]) => countersign(t, ["policy", ...args], { cwd: folder });
  const source = policyWithRule("deny", "x").replace("expect: { then: deny", "expect: { then: ask");
  writeFileSync(join(folder, "p.yaml"), source);
  const tested = await run("test", "p.yaml");
  assert.deepEqual([tested.code, tested.stderr], [1, ""]);
  assert.equal(
    tested.stdout,
    "p.yaml:7:1: failed: the tool\n" +
      "  expected  ask, because deny-it\n" +
      "  got       deny, because deny-it\n" +
      "1 test: 0 passed, 1 failed\n",
  );
  const json = await run("test", "p.yaml", "--json");
  const { failed, tests } = JSON.parse(json.stdout) as { failed: number; tests: object[] };
  assert.deepEqual([json.code, failed, tests.length], [1, 1, 1]);
  const checked = await run("check", "p.yaml");
  assert.equal(checked.code, 1);
  assert.match(checked.stdout, /^p\.yaml:7:1: the test "the tool" fails: expected ask/);
});

test("[ours.cli.policy.offline] a file that is not there or no text is one clear line", async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "bytes"), Buffer.from([0xff, 0xfe]));
  const run = (...args: readonly string[]) => countersign(t, ["policy", ...args], { cwd: folder });
  const missing = await run("check", "none.yaml");
  assert.deepEqual([missing.code, missing.stdout], [1, ""]);
  assert.equal(missing.stderr, "countersign: none.yaml: the file does not exist\n");
  const bytes = await run("test", "bytes");
  assert.equal(bytes.stderr, "countersign: bytes: not UTF-8 text\n");
  assert.equal((await run("check")).code, 2);
});

test("[ours.cli.policy.groups] with a token, check asks the server whether the groups are known", async (t) => {
  const desk = await startDesk(t);
  const unknownGroup = desk.write(UNKNOWN_GROUP_POLICY);
  const refused = await desk.run("check", unknownGroup);
  assert.deepEqual([refused.code, refused.stderr], [1, ""]);
  assert.match(refused.stdout, /^policy\.yaml:6:\d+: .*nobody.* \(rules\[0\]\.ask\.from/);
  assert.match(done(await desk.run("check", unknownGroup, "--offline")), /1 rule, no tests\n$/);
  const known = desk.write(policyWithRule("deny", "x"), "known.yaml");
  assert.match(done(await desk.run("check", known)), /^known\.yaml: .*, all groups known\n$/);
  const away = ["--url", "http://127.0.0.1:1"];
  assert.equal((await desk.run("check", known, ...away)).code, 3);
  assert.equal((await desk.run("check", known, "--offline", ...away)).code, 0);
});

test("[ours.cli.policy.publish] publish shows which rules change and which version is active", async (t) => {
  const desk = await startDesk(t);
  const first = desk.write(policyWithRule("deny", "x"), "a.yaml");
  const published = await desk.run("publish", first, "--expect", "0", "--note", "The first.");
  assert.match(done(published), /^Version 1 is active \(sha256 [0-9a-f]{64}\)\.\n$/);
  assert.equal(published.stderr, "No version is active.\nRules that change:\n  added    deny-it\n");

  const more = "  - given: { tool: z, args: {} }\n    expect: { then: ask }\n";
  const other = policyWithRule("deny", "y") + more;
  const second = await desk.run("publish", desk.write(other, "b.yaml"), "--yes");
  assert.match(done(second), /^Version 2 is active/);
  assert.match(second.stderr, /^Version 1, published by Ed at .*: The first\. \(sha256 /);
  assert.match(second.stderr, /\nRules that change:\n {2}changed {2}deny-it\n$/);
  const again = await desk.run("publish", "b.yaml", "--yes");
  assert.equal(done(again), "Version 2 is active and identical.\n");

  const late = await desk.run("publish", first, "--expect", "1");
  assert.equal(late.code, 1);
  assert.match(
    late.stderr,
    /\ncountersign: Version 2, published by Ed \(\S+\) at \S+, is active, but .* version 1\.\n$/,
  );

  const back = await desk.run("rollback", "1", "--yes", "--json");
  const { number, note, source } = JSON.parse(done(back)) as Record<string, unknown>;
  assert.deepEqual([number, note], [3, "Rollback to version 1."]);
  assert.equal(source, policyWithRule("deny", "x"));
  assert.equal((await desk.run("rollback", "9", "--yes")).code, 1);
});

test("[ours.cli.policy.publish] nothing is published without confirmation, or with errors, which are printed with their positions", async (t) => {
  const desk = await startDesk(t);
  const good = desk.write(policyWithRule("deny", "x"));
  const silent = await desk.run("publish", good);
  assert.equal(silent.code, 2);
  assert.match(silent.stderr, /--expect NUMBER .* or --yes/);
  const bad = await desk.run("publish", desk.write(FAULTY, "bad.yaml"), "--yes");
  assert.deepEqual([bad.code, bad.stdout], [1, ""]);
  assert.match(
    bad.stderr,
    /^bad\.yaml:5:.*\nbad\.yaml:9:.*\ncountersign: bad\.yaml has 2 errors\n$/,
  );
  // This one only the server can refuse.
  const unknownGroup = desk.write(UNKNOWN_GROUP_POLICY, "strangers.yaml");
  const unknown = await desk.run("publish", unknownGroup, "--yes", "--json");
  assert.equal(unknown.stdout, "");
  const report = JSON.parse(unknown.stderr.trimEnd().split("\n").at(-1) ?? "") as {
    error: { code: string; findings: { line: number }[] };
  };
  assert.deepEqual([report.error.code, report.error.findings[0]?.line], ["policy_invalid", 6]);
  assert.equal(done(await desk.run("history")), "No version has been published.\n");
});

/** A user who gives one answer. */
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

/** Runs a command in this process. */
async function runFor(
  t: TestContext,
  user: User,
  token: string,
  ...args: readonly string[]
): Promise<number> {
  process.env.COUNTERSIGN_TOKEN = token;
  t.after(() => {
    delete process.env.COUNTERSIGN_TOKEN;
  });
  return main(["policy", ...args, "--url", server.url], user);
}

test("[ours.cli.policy.publish] policy publish asks the user, and publishes only after yes", async (t) => {
  const { token } = await startDesk(t);
  const path = join(temporaryFolder(t), "p.yaml");
  writeFileSync(path, policyWithRule("deny", "x"));
  for (const [answer, code] of [
    ["", 1],
    ["n", 1],
    ["yes", 0],
  ] as const) {
    const user = new User(answer);
    assert.equal(await runFor(t, user, token, "publish", path), code);
    assert.deepEqual(user.questions, ["Publish this as version 1? [y/N] "]);
    assert.ok(user.stderr.includes("  added    deny-it"));
  }
  const user = new User("y");
  writeFileSync(path, policyWithRule("deny", "y"));
  assert.equal(await runFor(t, user, token, "publish", path, "--expect", "1"), 0);
  assert.deepEqual(user.questions, []);
});

test("[ours.cli.policy.read] policy show prints the exact source of a version, and policy history lists the versions", async (t) => {
  const desk = await startDesk(t);
  const none = await desk.run("show");
  assert.deepEqual([done(none), none.stderr], ["", "No policy has been published.\n"]);
  const sources = ["a", "b"].map((tool) => `# \u202e ${tool}\n${policyWithRule("deny", tool)}`);
  for (const source of sources) {
    done(await desk.run("publish", desk.write(source), "--yes", "--note", "Why not?"));
  }
  const shown = await desk.run("show");
  assert.equal(done(shown), sources[1]);
  assert.match(shown.stderr, /^Version 2, published by Ed at \S+: Why not\? \(sha256 \w+\)\n$/);
  assert.equal(done(await desk.run("show", "--number", "1")), sources[0]);
  const json = JSON.parse(done(await desk.run("show", "--json"))) as Record<string, unknown>;
  assert.deepEqual([json.number, json.source], [2, sources[1]]);
  assert.equal((await desk.run("show", "--number", "3")).code, 1);
  assert.equal((await desk.run("show", "--number", "x")).code, 2);

  const [head, ...rows] = done(await desk.run("history"))
    .trimEnd()
    .split("\n");
  assert.match(head ?? "", /^VERSION +PUBLISHED +BY +SHA256 +NOTE$/);
  assert.match(rows[0] ?? "", /^2 +\S+Z +Ed +[0-9a-f]{12} +Why not\?$/);
  assert.match(rows[1] ?? "", /^1 /);
  const one = await desk.run("history", "--limit", "1");
  assert.deepEqual(
    [done(one).split("\n").length, one.stderr],
    [3, "Only the first 1 are shown. Raise --limit to see more.\n"],
  );
  assert.equal((JSON.parse(done(await desk.run("history", "--json"))) as object[]).length, 2);

  // Control characters are made visible on a person's terminal.
  const user = new User("");
  assert.equal(await runFor(t, user, desk.token, "show"), 0);
  assert.ok(user.stdout.includes("# \\u{202E} b"));
});

test("[ours.cli.policy.simulate] simulate lists what would change and sums it up, in words, as JSON lines, and with progress for a person", async (t) => {
  const desk = await startDesk(t);
  const agent = await newAgent(server, t.name.slice(0, 60));
  const { id } = await agent.submit({ tool: "read.file" });
  await agent.submit({ tool: "deploy" });
  await agent.cancel(id);
  const draft = desk.write(policyWithRule("approve", "read.*"));
  const [change, ...summary] = done(await desk.run("simulate", draft))
    .trimEnd()
    .split("\n");
  assert.match(
    change ?? "",
    new RegExp(`^${id}  ask->approve +read\\.file  \\S+  because approve-it; cancelled then$`),
  );
  assert.deepEqual(summary.slice(0, 2), ["Of 2 calls: 1 ask->approve.", "1 unchanged."]);
  const options = ["--all", "--since", "1d", "--limit", "1"];
  const one = done(await desk.run("simulate", draft, ...options));
  assert.match(
    one,
    /^Of 1 calls: none changes\.\n1 unchanged\.\nOlder calls were skipped\. Raise --limit /,
  );

  const lines = done(await desk.run("simulate", draft, "--json"))
    .trimEnd()
    .split("\n");
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { event: string }).event),
    ["started", "changed", "summary"],
  );
  const user = new User("");
  const path = join(temporaryFolder(t), "draft.yaml");
  writeFileSync(path, policyWithRule("deny", "deploy"));
  assert.equal(await runFor(t, user, desk.token, "simulate", path), 0);
  assert.deepEqual(user.statuses, ["Reading past calls ..."]);
  assert.match(user.stdout, /^\S+ {2}ask->deny /);

  assert.equal((await desk.run("simulate", draft, "--since", "yesterday")).code, 2);
  assert.equal((await desk.run("simulate", desk.write(FAULTY, "bad.yaml"))).code, 1);
  const unknownGroup = await desk.run("simulate", desk.write(UNKNOWN_GROUP_POLICY, "s.yaml"));
  assert.equal(unknownGroup.code, 1);
  assert.match(unknownGroup.stderr, /^s\.yaml:6:/);
});

test("[ours.cli.policy.publish] only operators publish the baseline policy", async (t) => {
  const editor = await startDesk(t);
  const source = policyWithRule("deny", "never");
  const refused = await editor.run("publish", editor.write(source), "--floor", "--yes");
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /Only the role operator/);
  const operator = await makeToken(server.data, {
    kind: "reviewer",
    name: "Olga",
    role: "operator",
  });
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: operator };
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, "floor.yaml"), source);
  const words = ["policy", "publish", "floor.yaml", "--floor", "--expect", "0"];
  done(await countersign(t, words, { env, cwd }));
  assert.equal(done(await editor.run("show", "--floor")), source);
});
