import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import { after, test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import { assertRefused } from "./support/envelope.ts";
import { countRequests, startScene, submitBody } from "./support/scene.ts";

const scene = await startScene({ after });
const { server, instance } = scene;

/** A submission around the text of its arguments. */
function around(text: string): string {
  return `{"tool":"t","timeout":"1h","arguments":${text}}`;
}

async function submitText(body: string | Uint8Array): Promise<ErrorResponse["error"]> {
  const answer = await submitBody(server, instance.token, body);
  assert.equal(answer.status, 400, answer.text);
  const { error } = answer.json as unknown as ErrorResponse;
  assertRefused(answer, 400, error.code as "invalid_json", error.param);
  assert.ok(error.param, "the param is missing");
  return error;
}

async function assertEach(
  texts: readonly (string | Uint8Array)[],
  code: string,
  param: string,
): Promise<void> {
  const before = await countRequests(scene);
  for (const text of texts) {
    const error = await submitText(text);
    assert.deepEqual({ code: error.code, param: error.param }, { code, param }, String(text));
  }
  assert.equal(await countRequests(scene), before);
}

test("[ours.json.malformed] text that is not JSON returns 400 invalid_json with the place", async () => {
  await assertEach(
    ["{", "nul", "x", "{}}", "{'a':1}", "// c\n{}", " ", "\v{}"],
    "invalid_json",
    "body",
  );
  const values = ["01", "1.", ".5", "+1", "0x1", "NaN", "-", "tru", "undefined", "'a'", '"\\x41"'];
  const bodies = values.map((value) => around(`{"deep":[0,${value}]}`));
  await assertEach(bodies, "invalid_json", "arguments.deep[1]");
  await assertEach([around("{,}"), around("{a:1}")], "invalid_json", "arguments");
  await assertEach([around('{"a":"\u0001"}')], "invalid_json", "arguments.a");
});

test("[ours.json.malformed] the text that is wrong is not repeated", async () => {
  const error = await submitText(around('{"password":hunter2}'));
  assert.doesNotMatch(JSON.stringify(error), /hunter2/);
});

test("[ours.json.encoding] lone surrogates are rejected with their position", async () => {
  const halves = ["\\ud800", "\\udc00", "\\ud800\\ud800", "\\udbffx", "\\ud83d\\u0041"];
  const bodies = halves.map((half) => around(`{"a":["${half}"]}`));
  await assertEach(bodies, "invalid_json", "arguments.a[0]");
  await assertEach([around('{"\\udfff":1}')], "invalid_json", "arguments");
});

test("[ours.json.encoding] invalid UTF-8, a byte order mark and UTF-16 are rejected", async () => {
  const body = Buffer.from(around('{"a":"?"}'));
  const at = body.indexOf("?");
  const broken = [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x82], [0xf4, 0x90, 0x80, 0x80]];
  const bodies = broken.map((bytes) =>
    Buffer.concat([body.subarray(0, at), Uint8Array.from(bytes), body.subarray(at + 1)]),
  );
  bodies.push(Buffer.from(`\ufeff${body}`), Buffer.from(String(body), "utf16le"));
  await assertEach(bodies, "invalid_json", "body");
});

test("[ours.json.duplicate-keys] [scalar.arguments.ambiguous] a duplicate key is rejected at any depth, with its path", async () => {
  await assertEach(['{"tool":"a","tool":"a"}'], "duplicate_key", "tool");
  await assertEach(
    [around('{"a":1,"a":1}'), around('{"a":1,"\\u0061":2}')],
    "duplicate_key",
    "arguments.a",
  );
  await assertEach(
    [around('{"l":[{},{"__proto__":1,"__proto__":1}]}')],
    "duplicate_key",
    "arguments.l[1].__proto__",
  );
  await assertEach(
    ['{"tool":"t","timeout":"1h","arguments":{},"context":{"x":{"y":1,"z":2,"y":3}}}'],
    "duplicate_key",
    "context.x.y",
  );
});

test("[ours.json.depth] 100 levels are accepted, the body's own object included, 101 are not", async () => {
  const nested = (depth: number) => around(`{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`);
  assert.equal((await submitBody(server, instance.token, nested(98))).status, 201);
  const bodies = [99, 1_000, 500_000].map(nested);
  for (const body of [...bodies, "[".repeat(1_000_000), '{"a":'.repeat(200_000)]) {
    assert.equal((await submitText(body)).code, "too_deep");
  }
});

test("[ours.json.number-length] a number of 1,000 characters is accepted, one more is not", async () => {
  const number = (length: number) => around(`{"n":${"9".repeat(length)}}`);
  assert.equal((await submitBody(server, instance.token, number(1_000))).status, 201);
  const exponent = around(`{"n":1e${"9".repeat(999)}}`);
  const bodies = [number(1_001), number(1_000_000), exponent];
  await assertEach(bodies, "number_too_long", "arguments.n");
});

const BODY_BYTES_MAX = 1_048_576;

/** A submission of exactly so many bytes. */
function ofSize(bytes: number): string {
  const empty = around('{"a":""}');
  return around(`{"a":"${"x".repeat(bytes - empty.length)}"}`);
}

/** Sends a body in pieces without announcing its length. */
function sendChunked(body: string): Promise<{ status: number; text: string; id: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number;
    text: string;
    id: string;
  }>();
  const headers = {
    authorization: `Bearer ${instance.token}`,
    "idempotency-key": server.freshKey(),
    "content-type": "application/json",
  };
  const call = httpRequest(`${server.url}/v1/requests`, { method: "POST", headers }, (answer) => {
    let text = "";
    answer.setEncoding("utf8");
    answer.on("data", (piece: string) => {
      text += piece;
    });
    answer.on("end", () => {
      resolve({ status: answer.statusCode ?? 0, text, id: String(answer.headers["x-request-id"]) });
    });
  });
  // The answer may come before all was sent, and then the rest cannot be sent any more.
  call.on("error", reject);
  for (let at = 0; at < body.length; at += 65_536) call.write(body.slice(at, at + 65_536));
  call.end();
  return promise;
}

test("[ours.json.body-size] a body of exactly the limit is accepted, one byte more is rejected", async () => {
  const fits = await submitBody(server, instance.token, ofSize(BODY_BYTES_MAX));
  assert.equal(fits.status, 201);
  const tooLarge = await submitBody(server, instance.token, ofSize(BODY_BYTES_MAX + 1));
  assertRefused(tooLarge, 400, "body_too_large", "body");
});

test("[ours.json.body-size] it does not matter whether the length is announced", async () => {
  const fits = await sendChunked(ofSize(BODY_BYTES_MAX));
  assert.equal(fits.status, 201);
  const { status, text, id } = await sendChunked(ofSize(BODY_BYTES_MAX + 1));
  const { error } = JSON.parse(text) as ErrorResponse;
  const expected = [400, "body_too_large", "body", id];
  assert.deepEqual([status, error.code, error.param, error.request_id], expected);
});

test("[ours.json.body-size] the limit is the operator's", async (t) => {
  const small = await startScene(t, { settings: { body_bytes_max: "1024" } });
  const submit = (bytes: number) => submitBody(small.server, small.instance.token, ofSize(bytes));
  assert.equal((await submit(1024)).status, 201);
  assertRefused(await submit(1025), 400, "body_too_large", "body");
});
