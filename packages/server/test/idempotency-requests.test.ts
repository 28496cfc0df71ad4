import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertRefused } from "./support/envelope.ts";
import {
  auditOf,
  countRequests,
  end,
  restart,
  startScene,
  submitBody,
  TERMINAL,
} from "./support/scene.ts";
import { SUBMISSION } from "./support/test-provider.ts";

const scene = await startScene({ after });
const { server, clock, instance } = scene;

/** The text of a submission with these arguments. */
function around(args: string): string {
  return `{"tool":"t","timeout":"1h","arguments":${args}}`;
}

/** Whether the second body under the key of the first one was a replay; else a conflict. */
async function isReplay(first: string, second: string): Promise<boolean> {
  const key = server.freshKey();
  const created = await submitBody(server, instance.token, first, key);
  assert.equal(created.status, 201, created.text);
  const again = await submitBody(server, instance.token, second, key);
  if (again.status === 200) {
    assert.equal(again.text, created.text);
    return true;
  }
  assertRefused(again, 409, "idempotency_conflict");
  assert.equal((await server.read(instance.token, created.json.id)).status, "pending");
  return false;
}

test("[request.create.replay] the same key and input return the existing request with 200 and open nothing", async () => {
  const key = server.freshKey();
  const created = await submitBody(server, instance.token, SUBMISSION, key);
  const before = await countRequests(scene);
  for (const pause of [0, 1, 60_000]) {
    clock.advance(pause);
    const replay = await submitBody(server, instance.token, SUBMISSION, key);
    assert.equal(replay.status, 200);
    assert.equal(replay.text, created.text);
  }
  assert.equal(await countRequests(scene), before);
  assert.equal((await auditOf(scene, `request:${created.json.id}`)).length, 1);
});

test("[request.create.replay] a replay returns the current state, in every status", async () => {
  for (const status of TERMINAL) {
    const key = server.freshKey();
    const { json } = await submitBody(server, instance.token, SUBMISSION, key);
    const ended = await end(scene, json, status);
    const before = await countRequests(scene);
    const replay = await submitBody(server, instance.token, SUBMISSION, key);
    assert.equal(replay.status, 200);
    assert.deepEqual(replay.json, ended);
    assert.equal(await countRequests(scene), before);
  }
});

test("[request.create.conflict] the same key with other input in any field returns 409 and changes nothing", async () => {
  const original = { ...SUBMISSION, agent_reasoning: "why", context: { cwd: "/" } };
  const changes: readonly object[] = [
    { tool: "deploy2" },
    { arguments: {} },
    { arguments: { env: "prod", more: null } },
    { timeout: "2h" },
    { timeout: "60m" },
    { agent_reasoning: "because" },
    { agent_reasoning: undefined },
    { context: { cwd: "/srv" } },
    { context: undefined },
  ];
  for (const change of changes) {
    const other = JSON.stringify({ ...original, ...change });
    assert.equal(await isReplay(JSON.stringify(original), other), false, other);
  }
  const bare = JSON.stringify(SUBMISSION);
  assert.equal(await isReplay(bare, JSON.stringify({ ...SUBMISSION, agent_reasoning: "" })), false);
  assert.equal(await isReplay(bare, JSON.stringify({ ...SUBMISSION, context: {} })), false);
});

test("[request.create.conflict] other input is a conflict also when the request has ended", async () => {
  for (const status of TERMINAL) {
    const key = server.freshKey();
    const { json } = await submitBody(server, instance.token, SUBMISSION, key);
    const ended = await end(scene, json, status);
    const other = await submitBody(server, instance.token, { ...SUBMISSION, tool: "other" }, key);
    assertRefused(other, 409, "idempotency_conflict");
    const replay = await submitBody(server, instance.token, SUBMISSION, key);
    assert.deepEqual(replay.json, ended);
  }
});

test("[request.create.key-scope] the same key of another instance opens another request", async () => {
  const key = server.freshKey();
  const sibling = (await server.provision(instance.provisioner)).credential.token;
  const outsider = (await server.instance("elsewhere")).token;
  const ids = new Set<string>();
  for (const token of [instance.token, sibling, outsider]) {
    const answer = await submitBody(server, token, { ...SUBMISSION, tool: `t${ids.size}` }, key);
    assert.equal(answer.status, 201);
    ids.add(answer.json.id);
  }
  assert.equal(ids.size, 3);
});

test("[request.create.key-scope] a key used to provision is free for a request, and keys are case-sensitive", async () => {
  const key = "Shared-Key";
  const call = { token: instance.provisioner, key, body: {} };
  assert.equal((await server.call("POST", "/v1/instances", call)).status, 201);
  assert.equal((await submitBody(server, instance.token, SUBMISSION, key)).status, 201);
  const other = { ...SUBMISSION, tool: "other" };
  for (const variant of ["shared-key", "SHARED-KEY", "Shared-Key2", "Shared Key"]) {
    assert.equal((await submitBody(server, instance.token, other, variant)).status, 201);
  }
});

test("[ours.idempotency.decimals] [request.create.conflict-exact] numbers are equal as exact decimals, not as spellings and not as doubles", async () => {
  const same = [
    ["1", "1.0"],
    ["100", "1E+2"],
    ["0", "-0.0e9"],
    ["0.10", "1e-1"],
    ["9007199254740993", "9007199254740993.00"],
    ["1e400", "10e399"],
    ["-123456789012345678901234567890", "-1.2345678901234567890123456789e29"],
  ];
  for (const [a = "", b = ""] of same) {
    assert.ok(await isReplay(around(`{"n":${a}}`), around(`{"n":${b}}`)), `${a} and ${b}`);
  }
  const different = [
    ["9007199254740993", "9007199254740992"],
    ["0.1", "0.1000000000000000055511151231257827"],
    ["1e400", "1e401"],
    ["1e-400", "0"],
    ["1", '"1"'],
    ["1", "-1"],
    ["0", "false"],
  ];
  for (const [a = "", b = ""] of different) {
    const replay = await isReplay(around(`{"n":${a}}`), around(`{"n":${b}}`));
    assert.equal(replay, false, `${a} and ${b}`);
  }
});

test("[ours.idempotency.shape] key order, white space and string escapes do not make an input another input", async () => {
  const first = around('{"a":[1,{"b":"é","c":"/"}],"__proto__":{"x":1}}');
  const bodies = [
    around('{"__proto__":{"x":1},"a":[1,{"c":"/","b":"é"}]}'),
    around(' {\n "a" : [ 1 , { "b" : "é" , "c" : "/" } ] , "__proto__" : { "x" : 1 } } '),
    around('{"\\u0061":[1,{"b":"\\u00E9","c":"\\/"}],"\\u005f_proto__":{"x":1}}'),
    `{"arguments":{"a":[1,{"b":"é","c":"/"}],"__proto__":{"x":1}},"timeout":"1h","tool":"\\u0074"}`,
  ];
  for (const body of bodies) assert.ok(await isReplay(first, body), body);
});

test("[ours.idempotency.shape] the order of items, code points and absent keys do make it another", async () => {
  const pairs = [
    ['{"a":[1,2]}', '{"a":[2,1]}'],
    ['{"a":"é"}', '{"a":"e\\u0301"}'],
    ['{"a":null}', "{}"],
    ['{"a":{}}', '{"a":[]}'],
    ['{"__proto__":{}}', "{}"],
    ['{"a":""}', '{"a":"\\u0000"}'],
    ['{"a":"x"}', '{"A":"x"}'],
  ];
  for (const [a = "", b = ""] of pairs) {
    assert.equal(await isReplay(around(a), around(b)), false, `${a} and ${b}`);
  }
});

test("[ours.idempotency.invalid-not-recorded] a refused submission does not use up its key", async () => {
  const refused = [
    { ...SUBMISSION, tool: "" },
    { ...SUBMISSION, surprise: 1 },
    { ...SUBMISSION, timeout: "soon" },
    '{"tool":"t","tool":"t"}',
    "{",
    "[".repeat(1_000),
    { ...SUBMISSION, arguments: { text: "x".repeat(2_000_000) } },
  ];
  for (const body of refused) {
    const key = server.freshKey();
    assert.equal((await submitBody(server, instance.token, body, key)).status, 400);
    assert.equal((await submitBody(server, instance.token, SUBMISSION, key)).status, 201);
  }
});

test("[ours.idempotency.invalid-not-recorded] an invalid body with a used key returns 400, not 409", async () => {
  const key = server.freshKey();
  const created = await submitBody(server, instance.token, SUBMISSION, key);
  assert.equal((await submitBody(server, instance.token, "{", key)).status, 400);
  const replay = await submitBody(server, instance.token, SUBMISSION, key);
  assert.equal(replay.text, created.text);
});

test("[ours.idempotency.after-restart] a replay after a restart answers as before it", async (t) => {
  const first = await startScene(t);
  const { token } = first.instance;
  const body = around('{"n":1.0,"s":"\\u0061"}');
  const pending = await submitBody(first.server, token, body, "pending");
  const { json } = await submitBody(first.server, token, body, "decided");
  const decided = await end(first, json, "approved");
  await first.server.stop();

  const second = await restart(t, first, { window_max: "1m", validity_default: "1s" });
  const replay = await submitBody(second.server, token, body, "pending");
  assert.equal(replay.status, 200);
  assert.equal(replay.text, pending.text);
  const replayed = await submitBody(second.server, token, around('{"s":"a","n":1}'), "decided");
  assert.equal(replayed.status, 200);
  assert.deepEqual(replayed.json, decided);
  const other = await submitBody(second.server, token, around("{}"), "pending");
  assertRefused(other, 409, "idempotency_conflict");
});
