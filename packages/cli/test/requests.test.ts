import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { before, type TestContext, test } from "node:test";
import { type Agent, makeToken, newAgent } from "@countersign/testing/agents";
import { fileOwner } from "@countersign/testing/child";
import { countersign, type Server, startServer } from "@countersign/testing/countersign";

const file = fileOwner();
let server: Server;
let agent: Agent;
let reviewer: string;

before(async () => {
  // One test submits megabytes at once, which a rate would spread over seconds.
  server = await startServer(file, { args: ["--instance-rate", "0"] });
  agent = await newAgent(server);
  reviewer = await makeToken(server.data, { kind: "reviewer" });
});

/** @returns stdout of a command that is done and has nothing to remark */
async function requests(t: TestContext, ...args: readonly string[]): Promise<string> {
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: reviewer };
  const outcome = await countersign(t, ["requests", ...args], { env });
  assert.deepEqual([outcome.code, outcome.stderr], [0, ""]);
  return outcome.stdout;
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

test("[ours.cli.requests.decide] list shows pending requests by what is left, each on one line", async (t) => {
  const late = await agent.submit({ tool: "late", timeout: "3h" });
  const soon = await agent.submit({ tool: "soon", timeout: "2h", arguments: { env: "test" } });
  const [head, ...rows] = (await requests(t, "list")).trimEnd().split("\n");
  assert.match(head ?? "", /^REQUEST +LEFT +TOOL +INSTANCE +ARGUMENTS$/);
  const places = [soon.id, late.id].map((id) => rows.findIndex((row) => row.startsWith(id)));
  assert.ok((places[0] ?? 0) >= 0 && (places[0] ?? 0) < (places[1] ?? 0));
  assert.match(rows[places[0] ?? 0] ?? "", / {2}1h 59m +soon +\w+-\w+-\w{4} +\{"env":"test"\}$/);
  for (const { id } of [soon, late]) await requests(t, "deny", id);
});

test("[ours.search.finds] requests search prints where a request matches, and follows --limit", async (t) => {
  const { id } = await agent.submit({ tool: "stripe.refund", arguments: { order: "A-10077" } });
  let found = "";
  // The index follows the audit log, which is sealed every second.
  while (!found.includes(id)) found = await requests(t, "search", "10077");
  const [head, row] = found.trimEnd().split("\n");
  assert.match(head ?? "", /^REQUEST +STATUS +TOOL +FIELD +MATCH$/);
  assert.match(row ?? "", / {2}pending +stripe\.refund +arguments +order: A-10077$/);
  const json = JSON.parse(await requests(t, "search", '"A 10077" refund', "--json"));
  assert.equal(json[0].matches[0].field, "tool");
  assert.match(await requests(t, "search", "nowhere"), /^No requests match\./);
  await requests(t, "deny", id);
});

test("[ours.cli.requests.decide] requests list reports an empty list, and more rows than the limit", async (t) => {
  assert.equal(await requests(t, "list"), "There are no pending requests.\n");
  const ids = [(await agent.submit()).id, (await agent.submit()).id];
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: reviewer };
  const { stdout, stderr } = await countersign(t, ["requests", "list", "--limit", "1"], { env });
  assert.equal(stdout.trimEnd().split("\n").length, 2);
  assert.equal(stderr, "Only the first 1 are shown. Raise --limit to see more.\n");
  for (const id of ids) await requests(t, "deny", id);
});

test("[ours.cli.requests.decide] list follows the pages of the server up to its limit", async (t) => {
  const project = "crowd";
  const crowd = await newAgent(server, project);
  for (let number = 0; number < 230; number++) await crowd.submit();
  const token = await makeToken(server.data, { kind: "reviewer", project });
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: token };
  for (const [limit, shown, note] of [
    ["220", 220, "Only the first 220 are shown. Raise --limit to see more.\n"],
    ["1000", 230, ""],
  ] as const) {
    const list = ["requests", "list", "--limit", limit];
    const { stdout, stderr } = await countersign(t, list, { env });
    const ids = stdout
      .trimEnd()
      .split("\n")
      .slice(1)
      .map((row) => row.slice(0, 36));
    assert.deepEqual([new Set(ids).size, ids.length, stderr], [shown, shown, note]);
  }
});

test("[ours.cli.requests.decide] a request is shown, approved with the digest that was shown, and the agent learns it", async (t) => {
  const { id } = await agent.submit({
    arguments: { env: "prod", count: 2 },
    agent_reasoning: "The tests pass.",
    context: { repository: "shop" },
  });
  const card = await requests(t, "show", id);
  const digest = sha256('{"env":"prod","count":2}');
  assert.match(card, new RegExp(`^request    ${id}$`, "m"));
  assert.match(card, /^status {5}pending, 59m \d+s left$/m);
  assert.match(card, new RegExp(`^arguments  sha256 ${digest}\n  \\{\n    "env": "prod",$`, "m"));
  assert.match(card, /^reasoning {2}claim by the agent, not verified\n {2}> The tests pass\.$/m);
  assert.match(card, /^context {4}observed by the adapter$/m);

  const verdict = ["--digest", digest, "--note", "go", "--valid-for", "1h"];
  const approved = await requests(t, "approve", id, ...verdict);

  const { decision } = await agent.read(id);
  assert.equal(approved, `approved ${id}, usable until ${decision?.expires_at}\n`);
  assert.equal(decision?.note, "go");
  const validFor = Date.parse(decision?.expires_at ?? "") - Date.parse(decision?.decided_at ?? "");
  assert.equal(validFor, 3_600_000);
  assert.match(await requests(t, "show", id), /^status {5}approved by reviewer:\S+ at .* until /m);
});

test("[ours.cli.requests.decide] approve --yes approves what is there", async (t) => {
  const { id } = await agent.submit();
  assert.match(await requests(t, "approve", id, "--yes"), new RegExp(`^approved ${id}, `));
  assert.equal((await agent.read(id)).status, "approved");
});

test("[ours.cli.requests.decide] deny ends a request with its note, and the agent's poll returns", async (t) => {
  const { id } = await agent.submit();
  const poll = agent.read(id, "?wait=30s");
  assert.equal(await requests(t, "deny", id, "--note", "use staging"), `denied ${id}\n`);
  const { status, decision } = await poll;
  assert.deepEqual([status, decision?.note], ["denied", "use staging"]);
});

test("[ours.cli.requests.decide] decided requests are listed on request, the newest first", async (t) => {
  const first = await agent.submit();
  const second = await agent.submit();
  await requests(t, "deny", first.id);
  await requests(t, "approve", second.id, "--yes");
  const [, ...rows] = (await requests(t, "list", "--state", "decided")).split("\n");
  assert.match(rows[0] ?? "", new RegExp(`^${second.id}  approved`));
  assert.match(rows[1] ?? "", new RegExp(`^${first.id}  denied`));
});

test("[ours.cli.requests.decide] the url may end in a slash", async (t) => {
  assert.match(await requests(t, "list", "--url", `${server.url}/`), /no pending requests/);
});

test("[ours.cli.untrusted-text] no text of an agent can control the terminal in list, show and decisions", async (t) => {
  const hostile = "\u001b]0;owned\u0007\u001b[2J\u009b1m\u202eexe.txt\u200b\r\u2028";
  const { id } = await agent.submit({
    tool: `deploy${hostile}`,
    arguments: { [hostile]: [hostile] },
    agent_reasoning: `fine\n${hostile}\n${hostile}`,
    context: { [hostile]: hostile },
  });
  for (const args of [["list"], ["show", id], ["deny", id, "--note", hostile], ["show", id]]) {
    const printed = (await requests(t, ...args)).replaceAll("\n", "");
    assert.doesNotMatch(printed, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u, args[0]);
    if (args[0] !== "deny") assert.match(printed, /deploy\\u\{001B\}\]0;owned/);
  }
});

test("[ours.cli.requests.decide] requests behind very large ones are listed too", async (t) => {
  const filler = "x".repeat(1_000_000);
  const ids: string[] = [];
  for (let hours = 1; hours <= 6; hours++) {
    const large = hours < 6 ? { arguments: { filler } } : {};
    ids.push((await agent.submit({ ...large, timeout: `${hours}h` })).id);
  }
  const listed = JSON.parse(await requests(t, "list", "--json")) as { id: string }[];
  assert.deepEqual(
    listed.map(({ id }) => id),
    ids,
  );
  for (const id of ids) await requests(t, "deny", id);
});
