import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { before, type TestContext, test } from "node:test";
import { Agent, makeToken, provision } from "@countersign/testing/agents";
import { fileOwner, type Outcome } from "@countersign/testing/child";
import { countersign, type Server, startServer } from "@countersign/testing/countersign";

const file = fileOwner();
let server: Server;
let agent: Agent;
let instanceId: string;
let token: string;

before(async () => {
  server = await startServer(file);
  const provisioner = await makeToken(server.data, { kind: "provisioner" });
  const { instance, credential } = await provision(server, provisioner);
  agent = new Agent(server.url, credential.token);
  instanceId = instance.id;
  token = await makeToken(server.data, { kind: "reviewer", name: "ana" });
});

function run(t: TestContext, ...args: string[]): Promise<Outcome> {
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: token };
  return countersign(t, ["grants", ...args], { env });
}

/** @returns stdout of a command that is done and has nothing to remark */
async function done(t: TestContext, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(t, ...args);
  assert.deepEqual([code, stderr], [0, ""]);
  return stdout;
}

test("[ours.grant.cli] a grant is made from a request, used, shown, listed and revoked", async (t) => {
  assert.equal(await done(t, "list"), "There are no active grants.\n");
  const fields = { tool: "edit", arguments: { path: "src/a" }, context: { session_id: "s1" } };
  const { id: request } = await agent.submit(fields);
  const when = 'within(args.path, "src")';
  const card = await done(t, "create", request, "--when", when, "--calls", "3", "--lasts", "1h");
  const id = /^grant +([0-9a-f-]{36})$/m.exec(card)?.[1] ?? "";
  assert.match(card, /^state +active, 59m \d+s left, until .+$/m);
  assert.match(card, /^calls +0 of 3$/m);
  assert.match(card, /^tool +edit$/m);
  assert.match(card, /^session +s1$/m);
  assert.match(card, /^when +within\(args\.path, "src"\)$/m);
  assert.match(card, /^made +.+ by ana$/m);
  assert.equal((await agent.submit(fields)).status, "approved");
  assert.match(await done(t, "show", id), /^calls +1 of 3$/m);
  const [head, row] = (await done(t, "list")).trimEnd().split("\n");
  assert.match(head ?? "", /^GRANT +LEFT +CALLS +INSTANCE +TOOL +WHEN$/);
  assert.match(row ?? "", new RegExp(`^${id} +59m \\d+s +1/3 .+ edit +within`));
  assert.match(await done(t, "revoke", id), /^state +revoked at .+ by reviewer:.+$/m);
  assert.equal((await agent.submit(fields)).status, "pending");
  assert.match(await done(t, "list", "--ended"), new RegExp(`^${id} +revoked +1/3`, "m"));
});

test("[ours.grant.cli] a grant is created from options, and printed as JSON", async (t) => {
  const terms = ["--instance", instanceId, "--tool", "fs.*", "--note", "go", "--valid-for", "9s"];
  const made = JSON.parse(await done(t, "create", ...terms, "--json"));
  assert.deepEqual(
    [made.tool, made.note, made.valid_for, made.calls_max, made.session],
    ["fs.*", "go", "9s", 10, undefined],
  );
  const { decision } = await agent.submit({ tool: "fs.read" });
  assert.equal((decision as { note?: string }).note, "go");
  const [listed] = JSON.parse(await done(t, "list", "--json"));
  assert.deepEqual([listed.id, listed.calls], [made.id, 1]);
});

test("[ours.grant.turn] a grant for the rest of a response is created from a request, shown and listed", async (t) => {
  const context = { session_id: "s7", prompt_id: "p7" };
  const fields = { tool: "rest", context };
  const { id: request } = await agent.submit(fields);
  const card = await done(t, "create", request, "--same-turn", "--tool", "*", "--any-server");
  assert.match(card, /^server +any server$/m);
  assert.match(card, /^session +s7\nturn +p7$/m);
  const id = /^grant +([0-9a-f-]{36})$/m.exec(card)?.[1] ?? "";
  const row = (await done(t, "list")).split("\n").find((each) => each.startsWith(id));
  assert.match(row ?? "", / any server +turn p7, session s7/);
  assert.equal((await agent.submit({ tool: "other", context })).status, "approved");
  const next = { ...context, prompt_id: "p8" };
  const later = await agent.submit({ tool: "rest", context: next });
  assert.equal(later.status, "pending");
  await done(t, "revoke", id);
  const byId = ["--instance", instanceId, "--tool", "rest", "--session", "s7", "--turn", "p8"];
  const made = JSON.parse(await done(t, "create", ...byId, "--json"));
  assert.deepEqual([made.session, made.turn], ["s7", "p8"]);
  await done(t, "revoke", made.id);
  const bare = await agent.submit({ tool: "rest" });
  const refused = await run(t, "create", bare.id, "--same-turn");
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^countersign: .*session_id.*\n$/);
});

test("[ours.grant.cli] an invalid or rejected grant is reported and not created", async (t) => {
  const terms = ["--instance", instanceId, "--tool", "none"];
  const before = await done(t, "list", "--json");
  const wrong = [
    ["create"],
    ["create", "--instance", instanceId],
    ["create", "--instance", "x", "--tool", "t"],
    ["create", ...terms, "--same-turn"],
    ["create", ...terms, "--calls", "1001"],
    ["create", ...terms, "--lasts", "soon"],
    ["create", ...terms, "--valid-for", "1"],
    ["show"],
    ["list", "--limit", "0"],
  ];
  const refused = [
    ["create", randomUUID()],
    ["create", ...terms, "--when", "args."],
    ["create", ...terms, "--lasts", "25h"],
    ["create", ...terms, "--turn", "t"],
    ["show", randomUUID()],
    ["revoke", randomUUID()],
  ];
  for (const [code, commands] of [[2, wrong] as const, [1, refused] as const]) {
    for (const args of commands) {
      const outcome = await run(t, ...args);
      assert.deepEqual([outcome.code, outcome.stdout], [code, ""], args.join(" "));
      assert.match(outcome.stderr, /^countersign: .+\n$/);
    }
  }
  assert.equal(await done(t, "list", "--json"), before);
});

test("[ours.extensions.server.identity] a grant for the tools of a server is created and listed with both names", async (t) => {
  const terms = ["--instance", instanceId, "--tool", "create_*", "--server", "github"];
  const card = await done(t, "create", ...terms);
  assert.match(card, /^tool +create_\*\nserver +github$/m);
  const id = /^grant +([0-9a-f-]{36})$/m.exec(card)?.[1] ?? "";
  const [head, ...rows] = (await done(t, "list")).trimEnd().split("\n");
  assert.match(head ?? "", /^GRANT +LEFT +CALLS +INSTANCE +TOOL +SERVER +WHEN$/);
  const row = rows.find((each) => each.startsWith(id));
  assert.match(row ?? "", / create_\* +github *$/);
  assert.equal((await agent.submit({ tool: "mcp__github__create_issue" })).status, "approved");
  await done(t, "revoke", id);
});
