import assert from "node:assert/strict";
import test from "node:test";
import { JsonObject, parseJson } from "@countersign/protocol";
import { type AuthzenQuestion, parseQuestion } from "./authzen.ts";
import {
  boundNames,
  isInScope,
  readableContext,
  scopeDigest,
  splitContext,
} from "./authzen-scope.ts";
import type { StoredRequest } from "./request.ts";

function question(fields: object = {}): AuthzenQuestion {
  const body = {
    subject: { type: "user", id: "a" },
    action: { name: "pay" },
    resource: { type: "order", id: "1" },
    context: { arguments: { n: 1 }, b: 1, a: null },
    ...fields,
  };
  return parseQuestion(parseJson(JSON.stringify(body)));
}

const DIGEST = scopeDigest(question());

test("[ours.authzen.binding] the bound members are sorted", () => {
  assert.deepEqual(boundNames(question()), ["a", "b"]);
});

test("[ours.authzen.binding] the members of a context are split by their names, and each name is read once", () => {
  const names = Array.from({ length: 1_000 }, (_, at) => `m${at}`);
  let reads = 0;
  const counted = new Proxy(names, {
    get(target, key, receiver) {
      reads++;
      return Reflect.get(target, key, receiver);
    },
  });
  const context = new Map([...names, "more"].map((name) => [name, name]));
  const { named, others } = splitContext(context, counted);
  assert.deepEqual([[...named.keys()], [...others]], [names, [["more", "more"]]]);
  assert.ok(reads < 5_000, `${reads} reads`);
});

test("[ours.authzen.binding] key order and the spelling of numbers do not change the scope", () => {
  const text = `{"resource":{"id":"1","type":"order"},"action":{"name":"pay"},
    "subject":{"id":"a","type":"user"},"context":{"a":null,"b":1.0,"arguments":{"n":1e0}}}`;
  assert.equal(scopeDigest(parseQuestion(parseJson(text))), DIGEST);
});

test("[ours.authzen.binding] every other difference changes the scope", () => {
  const context = { arguments: { n: 1 }, b: 1, a: null };
  const changes: readonly object[] = [
    { subject: { type: "user", id: "b" } },
    { subject: { type: "user", id: "a", properties: {} } },
    { action: { name: "pay", properties: {} } },
    { resource: { type: "order", id: "1", other: 1 } },
    { context: { ...context, arguments: { n: 2 } } },
    { context: { ...context, a: 0 } },
    { context: { arguments: context.arguments, b: 1 } },
    { context: { ...context, env: "prod" } },
  ];
  for (const change of changes) {
    assert.notEqual(scopeDigest(question(change)), DIGEST, JSON.stringify(change));
  }
});

test("[ours.authzen.binding] subject.properties.act is not part of the scope, other properties are", () => {
  const act = { sub: "agent" };
  const acting = question({ subject: { type: "user", id: "a", properties: { act } } });
  assert.equal(scopeDigest(acting), DIGEST);
  const more = question({ subject: { type: "user", id: "a", properties: { act, role: "x" } } });
  assert.notEqual(scopeDigest(more), DIGEST);
});

test("[ours.authzen.binding] policies receive a context without the members that only a submission has", () => {
  const subject = '{"id":"a","n":1.0}';
  const submitted = '"act":{},"added_context":{"b":1},"client":{},"requested_access":{}';
  const context = parseJson(`{"b":1e0,"authzen":{"subject":${subject},${submitted}},"act":2}`);
  assert.ok(context instanceof JsonObject);
  const readable = readableContext(context);
  const expected = `{"b":1e0,"authzen":{"subject":${subject}},"act":2}`;
  assert.equal(readable?.source, expected);
  assert.equal(readableContext(readable), readable);
  assert.equal(readableContext(undefined), undefined);
});

test("[ours.authzen.reevaluate] only a stored call with the question in its context can be in scope", () => {
  const authzen = {
    subject: { type: "user", id: "a" },
    action: { name: "pay" },
    resource: { type: "order", id: "1" },
    requested_access: {},
    client: {},
    act: {},
    added_context: { env: "prod" },
  };
  const stored = {
    tool: '"pay"',
    server: null,
    arguments: '{"n":1}',
    context: JSON.stringify({ b: 1, a: null, authzen }),
  };
  const others = [
    { b: 1, authzen },
    { b: 1, a: null, env: "test", authzen },
    { b: 1, a: null, time: "now", authzen },
    { b: 1, a: null, authzen: { ...authzen, binding_context_members: ["b"] } },
    { b: 1, a: null, authzen: { ...authzen, subject: { ...authzen.subject, properties: {} } } },
  ].map((context) => JSON.stringify(context));
  const inScope = (change: Partial<StoredRequest> = {}): boolean =>
    isInScope({ ...stored, ...change } as StoredRequest, question());
  assert.equal(inScope(), true);
  assert.equal(inScope({ tool: '"note"' }), false);
  assert.equal(inScope({ server: '"mcp"' }), false);
  assert.equal(inScope({ arguments: '{"n":2}' }), false);
  for (const context of [...others, null, "{}", '{"authzen":1}', '{"authzen":{"subject":{}}}']) {
    assert.equal(inScope({ context }), false, String(context));
  }
});
