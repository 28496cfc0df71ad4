import assert from "node:assert/strict";
import { after, test } from "node:test";
import { parseIdentifier } from "@countersign/protocol";
import { assertRefused } from "./support/envelope.ts";
import { end, startScene, submitBody, TERMINAL } from "./support/scene.ts";
import { SUBMISSION } from "./support/test-provider.ts";

const scene = await startScene({ after });
const { server, instance } = scene;

/** A body whose one field is this JSON text. */
function withField(name: string, text: string): string {
  const { [name]: _, ...rest }: Readonly<Record<string, unknown>> = SUBMISSION;
  return `{"${name}":${text},${JSON.stringify(rest).slice(1)}`;
}

async function assertFieldRefused(name: string, texts: readonly string[]): Promise<void> {
  for (const text of texts) {
    const answer = await submitBody(server, instance.token, withField(name, text));
    assertRefused(answer, 400, "invalid_request", name);
  }
}

test("[scalar.identifier.format] instances, requests and exchanges have UUIDs", async () => {
  const answer = await submitBody(server, instance.token, SUBMISSION);
  const ids = [instance.id, answer.json.id, answer.headers.get("x-request-id") ?? ""];
  for (const id of ids) assert.equal(parseIdentifier(id), id);
  assert.equal(new Set(ids).size, ids.length);
});

test("[scalar.timestamp.format] every timestamp of a request is in UTC and ends in Z", async () => {
  for (const status of TERMINAL) {
    const request = await end(scene, await server.submit(instance.token), status);
    const { created_at, deadline_at, decision } = request;
    const times = [created_at, deadline_at, decision?.decided_at ?? ""];
    if (decision?.expires_at !== undefined) times.push(decision.expires_at);
    for (const time of times) {
      assert.match(time, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/);
      assert.ok(Number.isFinite(Date.parse(time)));
    }
  }
});

test("[scalar.duration.accepted] positive whole seconds, minutes and hours are durations", async () => {
  for (const timeout of ["1s", "9s", "10s", "3600s", "1m", "59m", "1h", "167h"]) {
    const request = await server.submit(instance.token, { timeout });
    assert.equal(request.timeout, timeout);
  }
  const spelled = await submitBody(
    server,
    instance.token,
    withField("timeout", '"\\u0031\\u0073"'),
  );
  assert.equal(spelled.json.timeout, "1s");
});

test("[scalar.duration.refused] zero, leading zeros, signs, fractions, spaces, other units and bare numbers are rejected", async () => {
  const wrong =
    "0s 0m 0h 00s 01s 007m -1s +1s 1.5h 1,5h .5s 1e3s 1 90 s m h ss 1S 1M 1H 1d 1w 1y 1ms 1us " +
    "1sec 1h30m 1s1s PT1S P1D 0x1s 1_000s ١s １s infinity NaNs";
  const spaced = ["", " ", " 1s", "1s ", "1 s", "1s\\n", "\\t1s", "1s\\u0000", "1\\u200bs"];
  const texts = [...wrong.split(" "), ...spaced].map((text) => `"${text}"`);
  const others = ["1", "60", "1.0", "true", "null", "[]", "{}", '["1s"]'];
  await assertFieldRefused("timeout", [...texts, ...others]);
});

test("[scalar.tool.length] a tool is a string of at least one character", async () => {
  for (const tool of [
    "x",
    " ",
    "0",
    "\u0000",
    "😀",
    "mcp__files.read/ünïcode",
    "t".repeat(9_999),
  ]) {
    const request = await server.submit(instance.token, { tool });
    assert.equal(request.tool, tool);
    assert.equal((await server.read(instance.token, request.id)).tool, tool);
  }
  await assertFieldRefused("tool", ['""', "1", "null", "true", "[]", "{}", '["deploy"]']);
});

test("[scalar.arguments.object] arguments are an object, empty included", async () => {
  for (const text of ["{}", '{"a":null}', '{"":{"":[]}}']) {
    const answer = await submitBody(server, instance.token, withField("arguments", text));
    assert.equal(answer.status, 201);
  }
  await assertFieldRefused("arguments", ["[]", "[{}]", '"{}"', "1", "null", "false"]);
});

test("[scalar.reasoning.string] reasoning is a string of any length, empty included", async () => {
  for (const agent_reasoning of ["", " ", "because", "\u0000\u2028\n", "é".repeat(100_000)]) {
    const request = await server.submit(instance.token, { agent_reasoning });
    assert.equal(request.agent_reasoning, agent_reasoning);
    const read = await server.read(instance.token, request.id);
    assert.equal(read.agent_reasoning, agent_reasoning);
  }
  await assertFieldRefused("agent_reasoning", ["1", "null", "true", "[]", "{}", '["why"]']);
});

test("[scalar.context.object] a context is an object, empty included", async () => {
  for (const text of ["{}", '{"a":null}', '{"":{"":[]}}']) {
    const answer = await submitBody(server, instance.token, withField("context", text));
    assert.equal(answer.status, 201);
  }
  await assertFieldRefused("context", ["[]", "[{}]", '"{}"', "1", "null", "false"]);
});

test("[scalar.context.identity] a context that names another instance does not change the owner of the request", async () => {
  const other = await server.instance();
  const claims = { instance_id: other.id, id: other.id, token: "cs_inst_", instance: other.id };
  const request = await server.submit(instance.token, { context: claims });
  assert.equal((await server.read(instance.token, request.id)).id, request.id);
  const call = { token: other.token };
  const foreign = await server.call("GET", `/v1/requests/${request.id}`, call);
  assertRefused(foreign, 404, "not_found");
  const shown = await server.call<{ instance: { id: string } }>(
    "GET",
    `/review/v1/requests/${request.id}`,
    { token: scene.reviewer },
  );
  assert.equal(shown.json.instance.id, instance.id);
});
