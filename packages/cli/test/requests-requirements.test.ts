import assert from "node:assert/strict";
import { before, type TestContext, test } from "node:test";
import type { Terminal } from "@countersign/command-line";
import { type Agent, makeToken, newAgent } from "@countersign/testing/agents";
import { fileOwner } from "@countersign/testing/child";
import { countersign, type Server, startServer } from "@countersign/testing/countersign";
import type { Requirement } from "../../server/src/policy/rule.ts";
import { main } from "../src/main.ts";
import { setRequirement } from "./support/requirements.ts";

const file = fileOwner();
let server: Server;
let agent: Agent;
let ana: string;
let ben: string;

before(async () => {
  server = await startServer(file);
  agent = await newAgent(server);
  ana = await makeToken(server.data, { kind: "reviewer", name: "ana", groups: ["dba"] });
  ben = await makeToken(server.data, { kind: "reviewer", name: "ben" });
});

async function pendingWith(requirement: Partial<Requirement>, note?: string): Promise<string> {
  const { id } = await agent.submit();
  await setRequirement(server, id, requirement, note);
  return id;
}

async function requests(t: TestContext, token: string, ...args: readonly string[]) {
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: token };
  return countersign(t, ["requests", ...args], { env });
}

/** `requests approve` as a person has it, who answers each question. */
async function approveAsPerson(
  token: string,
  id: string,
  answers: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly text: string }> {
  const lines: string[] = [];
  const terminal: Terminal = {
    out: (text) => void lines.push(text),
    note: (text) => void lines.push(text),
    status: () => {},
    isInteractive: true,
    hasScreen: true,
    askSecret: () => assert.fail("this command asks for no secret"),
    ask: async (question) => {
      const beginning = Object.keys(answers).find((each) => question.startsWith(each));
      assert.ok(beginning !== undefined, `was asked: ${question}`);
      lines.push(question);
      return answers[beginning] ?? "";
    },
    columns: 100,
    rows: 24,
  };
  process.env.COUNTERSIGN_URL = server.url;
  process.env.COUNTERSIGN_TOKEN = token;
  try {
    const code = await main(["requests", "approve", id, ...args], terminal);
    return { code, text: lines.join("\n") };
  } finally {
    delete process.env.COUNTERSIGN_URL;
    delete process.env.COUNTERSIGN_TOKEN;
  }
}

test("[ours.verdict.shown] show and list print the cause and the requirement of a request", async (t) => {
  const confirm = { kind: "type", text: "prod\u202e" } as const;
  const rest = { quorum: 2, noteRequired: true, excludeOwner: true, confirm };
  const from = [["group:dba", "reviewer:ana"], ["group:lead"]];
  const id = await pendingWith({ ...rest, from }, "Production is watched.\u001b[2J");
  const { stdout } = await requests(t, ben, "show", id);
  assert.match(stdout, /^policy {5}ask because production: Production is watched\.\\u\{001B\}/m);
  assert.match(stdout, /^ {2}failed {3}other: no such key$/m);
  const needs =
    "2 approvals of group:dba or reviewer:ana, and of group:lead; not by the owner; a note; " +
    "the typed text prod\\u{202E}";
  assert.ok(stdout.includes(`\nneeds      ${needs}\n`), stdout);
  assert.match(stdout, /^you {8}cannot approve: Only group:dba, group:lead, reviewer:ana may/m);
  const list = (await requests(t, ben, "list")).stdout.split("\n");
  assert.match(list[0] ?? "", /^REQUEST +LEFT +TOOL +INSTANCE +BECAUSE +NEEDS +ARGUMENTS$/);
  const row = list.find((each) => each.startsWith(id));
  assert.match(row ?? "", / {2}production +0\/2, not you, note, type +\{/);
  const denied = await agent.submit();
  await requests(t, ben, "deny", denied.id);
  assert.doesNotMatch((await requests(t, ben, "show", denied.id)).stdout, /^(policy|needs|you) /m);
});

test("[ours.verdict.quorum] an approval below the quorum is reported as such, and shown to the next reviewer", async (t) => {
  const id = await pendingWith({ quorum: 2 });
  const first = await requests(t, ana, "approve", id, "--yes", "--note", "fine");
  const output = `pending ${id}, approvals so far: 1, needs 2 approvals\n`;
  assert.deepEqual([first.code, first.stdout], [0, output]);
  const { stdout } = await requests(t, ben, "show", id);
  assert.match(stdout, /^approved {3}by ana at \d{4}-\S+Z: fine$/m);
  const last = await requests(t, ben, "approve", id, "--yes");
  assert.match(last.stdout, new RegExp(`^approved ${id}, usable until `));
});

test("[ours.verdict.confirmation] in a script the confirmation is an option; without it the server rejects the approval", async (t) => {
  const id = await pendingWith({ confirm: { kind: "type", text: "prod" } });
  const bare = await requests(t, ana, "approve", id, "--yes");
  assert.equal(bare.code, 1);
  assert.match(bare.stderr, /confirmation must be the exact text/);
  const approved = await requests(t, ana, "approve", id, "--yes", "--confirmation", "prod");
  assert.equal(approved.code, 0);
});

test("[ours.verdict.note] [ours.verdict.confirmation] approve asks the user for the note and the typed confirmation", async () => {
  const id = await pendingWith({ noteRequired: true, confirm: { kind: "type", text: "prod" } });
  const answers = { Approve: "y", Note: "checked", "To confirm, type prod:": "prod" };
  const { code, text } = await approveAsPerson(ana, id, answers);
  assert.equal(code, 0, text);
  assert.equal((await agent.read(id)).decision?.note, "checked");

  const match = await pendingWith({ confirm: { kind: "match" } });
  const typed = {
    Approve: "yes",
    [`To confirm, type the last 4 characters of ${match}`]: match.slice(-4),
  };
  assert.equal((await approveAsPerson(ana, match, typed)).code, 0);
});

test("[ours.verdict.note] [ours.verdict.confirmation] an approval without a required part decides nothing", async () => {
  const id = await pendingWith({ noteRequired: true, confirm: { kind: "match" } });
  const attempts = [
    { Approve: "n" },
    { Approve: "y", Note: "  " },
    { Approve: "y", Note: "checked", "To confirm": "" },
    { Approve: "y", Note: "checked", "To confirm": "zzzz" },
  ];
  for (const answers of attempts) assert.equal((await approveAsPerson(ana, id, answers)).code, 1);
  assert.equal((await agent.read(id)).status, "pending");
  const options = ["--note", "checked", "--confirmation", id.slice(-4)];
  assert.equal((await approveAsPerson(ana, id, { Approve: "y" }, ...options)).code, 0);
});

test("[ours.passkey.people] approve in a terminal names the page where the passkey signs", async (t) => {
  const id = await pendingWith({ confirm: { kind: "passkey" } });
  const page = new RegExp(`Sign it here: http://localhost:\\d+/p/[0-9a-f]+/inbox/${id}`);
  const digest = ["--digest", "ab".repeat(32)];
  for (const how of [["--yes"], digest]) {
    const { code, stderr } = await requests(t, ana, "approve", id, ...how);
    assert.equal(code, 1);
    assert.match(stderr, how === digest ? /not the digest of the stored arguments/ : page);
  }
  const { code } = await approveAsPerson(ana, id, {}).catch((error: unknown) => {
    assert.match(String(error), page);
    return { code: 1 };
  });
  assert.equal(code, 1);
  const { stdout } = await requests(t, ana, "show", id);
  const signAt = new RegExp(`^sign at    http://localhost:\\d+/p/[0-9a-f]+/inbox/${id}$`, "m");
  assert.match(stdout, signAt);
  assert.equal((await requests(t, ana, "deny", id)).code, 0);
});

test("[ours.verdict.from] a reviewer without permission gets an error before any question", async () => {
  const id = await pendingWith({ from: [["group:dba"]] });
  const { code, text } = await approveAsPerson(ben, id, {});
  assert.equal(code, 1);
  assert.equal(text, "countersign: Only group:dba may decide this call.");
  assert.equal((await approveAsPerson(ana, id, {}, "--yes")).code, 0);
});

test("[ours.verdict.shown] the requirement shows how many of each group are needed", async (t) => {
  const from = [["group:dba"], ["group:lead"]];
  const id = await pendingWith({ quorum: 2, from, quorums: [2, 1] });
  const { stdout } = await requests(t, ben, "show", id);
  const needs = "2 approvals with 2 of group:dba, and 1 of group:lead";
  assert.ok(stdout.includes(`\nneeds      ${needs}\n`), stdout);
});

test("[ours.verdict.withdrawn] withdraw removes the user's own approval, and reports if there is none", async (t) => {
  const id = await pendingWith({ quorum: 2 });
  await requests(t, ana, "approve", id, "--yes");
  const output = await requests(t, ana, "withdraw", id);
  assert.deepEqual([output.code, output.stdout, output.stderr], [0, "Withdrawn.\n", ""]);
  const again = await requests(t, ana, "withdraw", id, "--json");
  assert.deepEqual([again.code, again.stdout], [0, '{"withdrawn":false}\n']);
  await requests(t, ana, "approve", id, "--yes");
  await requests(t, ben, "approve", id, "--yes");
  const late = await requests(t, ana, "withdraw", id);
  assert.deepEqual([late.code, late.stdout], [1, ""]);
  assert.match(late.stderr, /already approved/);
});
