import assert from "node:assert/strict";
import { join } from "node:path";
import { before, type TestContext, test } from "node:test";
import type { ApprovalRequest } from "@countersign/protocol";
import { type Agent, exchange, makeToken, newAgent } from "@countersign/testing/agents";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import {
  countersign,
  type Server,
  spawnCountersign,
  startServer,
} from "@countersign/testing/countersign";

/** JSON that `JSON.parse` would change, so that the test detects a copy through it. */
const EXACT = '{"count":9007199254740993,"ratio":1.0,"text":"\\u0041"}';

const file = fileOwner();
let server: Server;
let agent: Agent;
let reviewer: string;

before(async () => {
  server = await startServer(file);
  agent = await newAgent(server);
  reviewer = await makeToken(server.data, { kind: "reviewer" });
});

async function submitExact(key: string, context = "{}"): Promise<string> {
  const rest = `"context":${context},"timeout":"1h"`;
  const body = `{"tool":"deploy","arguments":${EXACT},${rest}}`;
  const url = `${server.url}/v1/requests`;
  const answer = await exchange<ApprovalRequest>("POST", url, agent.token, body, key);
  assert.equal(answer.status, 201, answer.text);
  return answer.json.id;
}

/** Runs a command that prints one JSON text and nothing else. */
async function run(t: TestContext, ...args: readonly string[]): Promise<[text: string, unknown]> {
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: reviewer };
  const { code, stdout, stderr } = await countersign(t, [...args, "--json"], { env });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^[^\n]+\n$/);
  return [stdout.trimEnd(), JSON.parse(stdout)];
}

test("[ours.cli.json] serve prints its log, a JSON object to each line, and no banner", async (t) => {
  const other = await startServer(t);
  await exchange("GET", `${other.url}/healthz`);
  const { stdout, stderr } = await other.stop();
  const events = stdout
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { event: string }).event);
  assert.equal(events[0], "server.started");
  assert.equal(events.at(-1), "server.stopped");
  assert.equal(stderr, "");
});

test("[ours.cli.json] tokens create, list and revoke print JSON", async (t) => {
  const data = ["--data", server.data];
  const order = ["--name", "ci", "--project", "shop", "--role", "viewer", "--expires-in", "1h"];
  const [, created] = await run(t, "tokens", "create", "reviewer", ...order, ...data);
  const { id, token } = created as { id: string; token: string };
  assert.match(token, /^cs_rev_/);

  const [text, listed] = await run(t, "tokens", "list", ...data);
  const entry = (listed as { id: string }[]).find((each) => each.id === id);
  const { created_at, expires_at, ...rest } = entry as Record<string, unknown>;
  assert.deepEqual(rest, { id, kind: "reviewer", name: "ci", project: "shop", role: "viewer" });
  assert.equal(
    Date.parse(String(expires_at)) - Date.parse(String(created_at)) >= 3_600_000 - 1_000,
    true,
  );
  assert.ok(!text.includes(token));

  assert.deepEqual(await run(t, "tokens", "revoke", id, ...data), [
    `{"revoked":"${id}"}`,
    { revoked: id },
  ]);
});

test("[ours.cli.json] requests list, show, approve and deny print the exact request", async (t) => {
  const first = await submitExact("json-1");
  const second = await submitExact("json-2");

  const [list, listed] = await run(t, "requests", "list");
  assert.deepEqual(
    (listed as { id: string }[]).map(({ id }) => id).toSorted(),
    [first, second].toSorted(),
  );
  assert.equal(list.split(EXACT).length, 3);

  const [shown, request] = await run(t, "requests", "show", first);
  assert.ok(shown.includes(`"arguments":${EXACT}`));
  const { arguments_sha256 } = request as { arguments_sha256: string };

  const [approved] = await run(t, "requests", "approve", first, "--digest", arguments_sha256);
  assert.match(approved, /"status":"approved"/);
  assert.ok(approved.includes(`"arguments":${EXACT}`));
  const [denied] = await run(t, "requests", "deny", second);
  assert.match(denied, /"status":"denied"/);

  const [, decided] = await run(t, "requests", "list", "--state", "decided");
  assert.equal((decided as unknown[]).length, 2);
  assert.deepEqual(await run(t, "requests", "list"), ["[]", []]);
});

test("[ours.cli.json] requests watch prints one JSON object for each change", async (t) => {
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: reviewer };
  const watch = spawnCountersign(t, ["requests", "watch", "--json"], { env });
  // A separate line would report a change that did not happen.
  const id = await submitExact("json-watched", '{"a":\r\n{"event":"voted"}\n}');
  await watch.prints("stdout", /"opened"/);
  assert.equal((await countersign(t, ["requests", "deny", id], { env })).code, 0);
  await watch.prints("stdout", /"resolved"/);
  const { code, stdout, stderr } = await watch.end("SIGINT");
  assert.deepEqual([code, stderr], [0, ""]);
  const lines = stdout.trimEnd().split("\n");
  const changes = lines.map(
    (line) => JSON.parse(line) as { event: string; request: ApprovalRequest },
  );
  assert.deepEqual(
    changes.map(({ event, request }) => [event, request.id, request.status]),
    [
      ["opened", id, "pending"],
      ["resolved", id, "denied"],
    ],
  );
  for (const line of lines) assert.ok(line.includes(`"arguments":${EXACT}`));
});

test("[ours.cli.json] backup prints JSON", async (t) => {
  const target = join(temporaryFolder(t), "copy.db");
  const [, copied] = await run(t, "backup", target, "--data", server.data);
  assert.deepEqual(copied, { file: target });
});

test("[ours.operations.backup] the key to be kept with a copy is named by where it is", async (t) => {
  const folder = temporaryFolder(t);
  const noted = async (name: string, env: Readonly<Record<string, string>>) => {
    const words = ["backup", join(folder, name), "--data", server.data];
    return (await countersign(t, words, { env })).stderr;
  };
  assert.ok((await noted("a.db", {})).startsWith(`Keep a copy of ${server.data}/secret.key on`));
  const env = { COUNTERSIGN_SECRET_KEY: Buffer.alloc(32).toString("base64") };
  assert.match(await noted("b.db", env), /^Keep a copy of the secret key on/);
});

test("[ours.cli.json] a refusal leaves stdout empty and is one JSON object with code and message on stderr", async (t) => {
  const refusals: readonly (readonly [command: string, code: number, reason: string])[] = [
    ["requests show 01a1fb6b-6ba3-7554-8ce5-a39d503b8141", 1, "not_found"],
    ["requests list --limit many", 2, "usage"],
    ["serve --port many", 2, "config"],
    ["nonsense", 2, "usage"],
    [`serve --port 0 --data ${server.data}`, 1, "store"],
  ];
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: reviewer };
  for (const [command, code, reason] of refusals) {
    const outcome = await countersign(t, [...command.split(" "), "--json"], { env });
    assert.equal(outcome.code, code, outcome.stderr);
    assert.equal(outcome.stdout, "");
    assert.match(outcome.stderr, /^[^\n]+\n$/);
    const { error } = JSON.parse(outcome.stderr) as { error: { code: string; message: string } };
    assert.equal(error.code, reason);
    assert.notEqual(error.message, "");
  }
});
