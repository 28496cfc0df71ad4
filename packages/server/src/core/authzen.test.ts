import assert from "node:assert/strict";
import test from "node:test";
import { JsonObject, Problem, parseJson } from "@countersign/protocol";
import { type AuthzenQuestion, contextOf, objectOf, parseBatch, parseQuestion } from "./authzen.ts";

const ENTITIES = `"subject":{"type":"user","id":"a"},"action":{"name":"pay"},
  "resource":{"type":"order","id":"1"}`;

function question(context: string): AuthzenQuestion {
  return parseQuestion(parseJson(`{${ENTITIES},"context":${context}}`));
}

test("[ours.authzen.exact] the call has the exact texts of the arguments and of the context", () => {
  const asked = question('{"arguments":{ "n": 1.50 },"x":[ 1E2 ],"time":"now","s":"é\\n"}');
  assert.equal(asked.tool, "pay");
  assert.equal(asked.arguments.source, '{ "n": 1.50 }');
  const context = contextOf(asked, new Map([["extra", parseJson("[ 0.0 ]")]]));
  const entities = '"subject":{"type":"user","id":"a"},"action":{"name":"pay"}';
  assert.equal(
    context.source,
    `{"x":[ 1E2 ],"s":"é\\n","authzen":{${entities},` +
      '"resource":{"type":"order","id":"1"},"extra":[ 0.0 ]}}',
  );
});

test("[ours.authzen.evaluate] members of the protocol and a text justification are not in the call", () => {
  const names = ["access_request", "approval", "evaluated_at", "evaluation_id", "reason", "time"];
  const members = [...names, "business_justification", "kept"].map((name) => `"${name}":"t"`);
  const asked = question(`{${members.join(",")}}`);
  assert.deepEqual([...asked.context.keys()], ["kept"]);
  assert.equal(asked.reasoning, "t");
  assert.equal(asked.approval, "t");
  assert.equal(asked.arguments.source, "{}");
  assert.deepEqual(
    [...question('{"business_justification":1}').context.keys()],
    ["business_justification"],
  );
});

test("[ours.authzen.evaluate] a malformed member is named", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["7", "body"],
    ["{}", "action"],
    [`{${ENTITIES},"context":null}`, "context"],
    [`{${ENTITIES},"context":{"arguments":[]}}`, "context.arguments"],
    [`{${ENTITIES},"context":{"authzen":1}}`, "context.authzen"],
    [`{"action":{"name":""}}`, "action.name"],
    [`{"action":{"name":"a","properties":1}}`, "action.properties"],
    [`{"action":{"name":"a"},"subject":{"type":"t","id":null}}`, "subject.id"],
    [`{"action":{"name":"a"},"subject":{"type":"t","id":"i"},"resource":[]}`, "resource"],
  ];
  for (const [text, param] of cases) {
    assert.throws(
      () => parseQuestion(parseJson(text)),
      (error) => error instanceof Problem && error.param === param,
      text,
    );
  }
});

test("[ours.authzen.tool] a resource of type tool is the tool, and its arguments are required once", () => {
  const about = (type: string, properties: string, context = "{}"): AuthzenQuestion =>
    parseQuestion(
      parseJson(`{"subject":{"type":"user","id":"a"},"action":{"name":"tools/call"},
        "resource":{"type":"${type}","id":"pay","properties":${properties}},"context":${context}}`),
    );
  for (const type of ["tool", "mcp_tool"]) {
    const own = about(type, '{"arguments":{ "n":1.0 }}');
    assert.deepEqual([own.tool, own.arguments.source], ["pay", '{ "n":1.0 }']);
    const inContext = about(type, "{}", '{"arguments":{"n":2}}');
    assert.deepEqual([inContext.tool, inContext.arguments.source], ["pay", '{"n":2}']);
    assert.throws(() => about(type, "{}"), /is required for a tool/);
    const both = '{"arguments":{}}';
    assert.throws(() => about(type, both, both), /must be omitted/);
    assert.throws(() => about(type, '{"arguments":[]}'), /must be a JSON object/);
  }
  const other = about("order", '{"arguments":{"n":1}}');
  assert.deepEqual([other.tool, other.arguments.source], ["tools/call", "{}"]);
});

class Uncopied<V> extends Map<string, V> {
  override [Symbol.iterator](): never {
    throw new Error("all members were read");
  }
}

test("[ours.authzen.batch] each question costs the same however many unknown members the body has", () => {
  const body = parseJson(
    `{"subject":{"type":"user","id":"a"},"action":{"name":"pay"},"resource":{"type":"o","id":"1"},
      "unknown":1,"evaluations":[{},{"action":{"name":"get"}}]}`,
  ) as JsonObject;
  const batch = parseBatch(new JsonObject(new Uncopied(body.members), body.source));
  assert.ok("questions" in batch);
  assert.deepEqual(
    batch.questions.map((each) => (each instanceof Problem ? each.message : each.tool)),
    ["pay", "get"],
  );
});

test("[ours.authzen.batch] items inherit whole members, and a malformed item is a problem at its place", () => {
  const resource = '{"resource":{"type":"order","id":"2"}}';
  const body = parseJson(`{${ENTITIES},"evaluations":[{},${resource},7,{"action":{}}]}`);
  const batch = parseBatch(body);
  assert.ok("questions" in batch);
  const described = batch.questions.map((each) =>
    each instanceof Problem ? each.param : each.resource.members.get("id"),
  );
  assert.deepEqual(described, ["1", "2", "evaluations[2]", "action.name"]);
  assert.equal(batch.semantic, "execute_all");
  assert.ok(!("questions" in parseBatch(parseJson(`{${ENTITIES},"evaluations":[]}`))));
});

test("an object of members has their texts, also for names that need escapes", () => {
  const value = parseJson('{"a\\"b":{"__proto__":[1.0,"\\u00e9"]}}') as JsonObject;
  assert.equal(objectOf(value.members).source, '{"a\\"b":{"__proto__":[1.0,"\\u00e9"]}}');
});
