import assert from "node:assert/strict";
import { test } from "node:test";
import {
  parseCreateApprovalRequest,
  parseProvisionInstance,
  parseUpdateInstance,
} from "./inputs.ts";
import { type JsonValue, parseJson } from "./json.ts";
import { Problem } from "./problems.ts";

function refusal(
  parse: (body: JsonValue) => unknown,
  body: string,
): { code: string; param: string | undefined } {
  try {
    parse(parseJson(body));
  } catch (error) {
    assert.ok(error instanceof Problem, `${error} is no Problem`);
    assert.equal(error.status, 400);
    return { code: error.code, param: error.param };
  }
  throw new assert.AssertionError({ message: `was accepted: ${body}` });
}

/** A good submission as text, with some fields replaced or, if undefined, left out. */
function submission(changes: Readonly<Record<string, string | undefined>> = {}): string {
  const fields = { tool: '"deploy"', arguments: '{"n":1.0}', timeout: '"90s"', ...changes };
  const members = Object.entries(fields).filter(([, value]) => value !== undefined);
  return `{${members.map(([name, value]) => `"${name}":${value}`).join()}}`;
}

function assertRefused(changes: Readonly<Record<string, string | undefined>>, param: string): void {
  const refused = refusal(parseCreateApprovalRequest, submission(changes));
  assert.deepEqual(refused, { code: "invalid_request", param });
}

test("a submission is read with its exact arguments and context", () => {
  const text = submission({
    tool: '"\\u0064eploy"',
    arguments: '{ "n" : 1.0 }',
    agent_reasoning: '""',
    context: '{"cwd":"\\/"}',
  });
  const input = parseCreateApprovalRequest(parseJson(text));
  assert.equal(input.tool, "deploy");
  assert.equal(input.arguments.source, '{ "n" : 1.0 }');
  assert.deepEqual([input.timeout, input.timeoutMs], ["90s", 90_000]);
  assert.equal(input.agentReasoning, "");
  assert.equal(input.context?.source, '{"cwd":"\\/"}');
});

test("optional fields that are left out are undefined", () => {
  const { agentReasoning, context } = parseCreateApprovalRequest(parseJson(submission()));
  assert.deepEqual([agentReasoning, context], [undefined, undefined]);
});

test("[request.create.required] a missing required field is named", () => {
  for (const name of ["tool", "arguments", "timeout"]) assertRefused({ [name]: undefined }, name);
});

test("[request.create.nulls] null is named, in every field", () => {
  for (const name of ["tool", "arguments", "timeout", "agent_reasoning", "context"]) {
    assertRefused({ [name]: "null" }, name);
  }
});

test("[request.create.additional-properties] an unknown field is named, in whatever spelling", () => {
  assertRefused({ surprise: "1" }, "surprise");
  assertRefused({ Tool: '"x"' }, "Tool");
  assertRefused({ "\\u005f_proto__": "{}" }, "__proto__");
  assertRefused({ "": "1" }, "body");
  assertRefused({ idempotency_key: '"k"' }, "idempotency_key");
});

test("[request.create.additional-properties] the name of an unknown field is well-formed text of bounded length", () => {
  const { param = "" } = refusal(
    parseCreateApprovalRequest,
    submission({ [`${"x".repeat(199)}😀${"y".repeat(10_000)}`]: "1" }),
  );
  assert.ok(param.length <= 203, `${param.length} characters`);
  assert.ok(param.isWellFormed());
});

test("[request.create.body-object] a submission that is no object is refused", () => {
  for (const body of ["null", "[]", '"text"', "1", "true", `[${submission()}]`]) {
    const refused = refusal(parseCreateApprovalRequest, body);
    assert.deepEqual(refused, { code: "invalid_request", param: "body" });
  }
});

test("[scalar.tool.length] [scalar.arguments.object] [scalar.reasoning.string] [scalar.context.object] a field of another type is named", () => {
  const noText = ["1", "true", "[]", "{}", '["deploy"]'];
  const noObject = ["1", "true", "[]", '"{}"', "[{}]"];
  for (const value of [...noText, '""']) assertRefused({ tool: value }, "tool");
  for (const value of noText) assertRefused({ agent_reasoning: value }, "agent_reasoning");
  for (const value of [...noText, '""', '"0s"', '"1"'])
    assertRefused({ timeout: value }, "timeout");
  for (const value of noObject) {
    assertRefused({ arguments: value }, "arguments");
    assertRefused({ context: value }, "context");
  }
});

test("an instance is provisioned with a name or without", () => {
  const unnamed = parseProvisionInstance(parseJson(" { } "));
  assert.deepEqual(unnamed, { canonical: "{}", instanceName: undefined });
  const named = parseProvisionInstance(parseJson('{"instance_name":"\\u00e9"}'));
  assert.deepEqual(named, { canonical: '{"instance_name":"é"}', instanceName: "é" });
});

test("a provisioning with a wrong field names it", () => {
  const cases: readonly (readonly [string, string])[] = [
    ['{"instance_name":""}', "instance_name"],
    ['{"instance_name":null}', "instance_name"],
    ['{"instance_name":1}', "instance_name"],
    ['{"delivery":null}', "delivery"],
    ['{"delivery":"webhook"}', "delivery"],
    ['{"name":"x"}', "name"],
    ["[]", "body"],
  ];
  for (const [body, param] of cases) {
    assert.deepEqual(refusal(parseProvisionInstance, body), { code: "invalid_request", param });
  }
});

test("a delivery is refused by its type, in a provisioning and in an update", () => {
  const body = '{"delivery":{"type":"webhook","url":"https://receiver.example"}}';
  for (const parse of [parseProvisionInstance, parseUpdateInstance]) {
    const expected = { code: "unsupported_delivery_type", param: "delivery" };
    assert.deepEqual(refusal(parse, body), expected);
  }
});

test("an update changes the name, the delivery or both, and is never empty", () => {
  const update = (body: string) => {
    const { instanceName, delivery } = parseUpdateInstance(parseJson(body));
    return { instanceName, delivery };
  };
  assert.deepEqual(update('{"instance_name":"b"}'), { instanceName: "b", delivery: undefined });
  assert.deepEqual(update('{"delivery":null}'), { instanceName: undefined, delivery: null });
  const both = update('{"instance_name":"b","delivery":null}');
  assert.deepEqual(both, { instanceName: "b", delivery: null });
  assert.deepEqual(refusal(parseUpdateInstance, "{}"), { code: "invalid_request", param: "body" });
  assert.equal(refusal(parseUpdateInstance, '{"instance_name":null}').param, "instance_name");
  assert.equal(refusal(parseUpdateInstance, '{"other":1}').param, "other");
});
