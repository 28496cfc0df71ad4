import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type DeliveryRules,
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
    assert.ok(error instanceof Problem, `${error} is not a Problem`);
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

test("[request.create.types] null is named, in every field", () => {
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

test("an error states the known fields and the invalid value", () => {
  const assertMessage = (changes: Record<string, string>, message: string) => {
    const body = parseJson(submission(changes));
    assert.throws(() => parseCreateApprovalRequest(body), { message });
  };
  const known = "Known: tool, arguments, timeout, agent_reasoning, context.";
  assertMessage({ surprise: "1" }, `The body has an unknown field "surprise". ${known}`);
  const rule = "timeout must be a whole number followed by s, m or h, like 90s";
  assertMessage({ timeout: '"1 hour"' }, `${rule}, not "1 hour".`);
  const long = "x".repeat(100);
  assertMessage({ timeout: `"${long}"` }, `${rule}, not "${long.slice(0, 60)}...".`);
});

test("[request.create.additional-properties] the name of an unknown field is well-formed text of bounded length", () => {
  const { param = "" } = refusal(
    parseCreateApprovalRequest,
    submission({ [`${"x".repeat(199)}😀${"y".repeat(10_000)}`]: "1" }),
  );
  assert.ok(param.length <= 203, `${param.length} characters`);
  assert.ok(param.isWellFormed());
});

test("[request.create.body-object] a submission that is not an object is rejected", () => {
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
  assert.deepEqual(unnamed, { canonical: "{}", instanceName: undefined, delivery: undefined });
  const named = parseProvisionInstance(parseJson('{"instance_name":"\\u00e9"}'));
  const canonical = '{"instance_name":"é"}';
  assert.deepEqual(named, { canonical, instanceName: "é", delivery: undefined });
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

test("a delivery with another type is rejected, in a provisioning and in an update", () => {
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

const WEBHOOKS: DeliveryRules = { webhooks: true, internalNames: false };
const SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const REGISTRATION_ID = "019cad9c-8813-729c-9c30-e0604515ced9";

/** A good delivery as text, with some fields replaced or, if undefined, left out. */
function delivery(changes: Readonly<Record<string, string | undefined>> = {}): string {
  const fields = {
    type: '"webhook"',
    url: '"https://receiver.example.com/h?x=1"',
    registration_id: `"${REGISTRATION_ID}"`,
    signing_secret: `"${SECRET}"`,
    ...changes,
  };
  const members = Object.entries(fields).filter(([, value]) => value !== undefined);
  return `{${members.map(([name, value]) => `"${name}":${value}`).join()}}`;
}

/** The refusal of a delivery by a provider that delivers: the same for both operations. */
function deliveryRefusal(text: string): { code: string; param: string | undefined } {
  const body = `{"instance_name":"a","delivery":${text}}`;
  const refused = refusal((parsed) => parseProvisionInstance(parsed, WEBHOOKS), body);
  assert.deepEqual(
    refusal((parsed) => parseUpdateInstance(parsed, WEBHOOKS), body),
    refused,
  );
  return refused;
}

test("[delivery.input.shape] a whole delivery is read, in a provisioning and in an update", () => {
  const body = parseJson(`{"delivery":${delivery()}}`);
  for (const parse of [parseProvisionInstance, parseUpdateInstance]) {
    const { instanceName, delivery: read } = parse(body, WEBHOOKS);
    assert.equal(instanceName, undefined);
    assert.deepEqual(read, {
      url: {
        text: "https://receiver.example.com/h?x=1",
        host: "receiver.example.com",
        isAddress: false,
        port: 443,
        path: "/h?x=1",
        authority: "receiver.example.com",
      },
      registrationId: REGISTRATION_ID,
      signingSecret: SECRET,
    });
  }
});

test("[delivery.input.shape] a delivery that is not an object is rejected, with or without webhooks", () => {
  const expected = { code: "invalid_request", param: "delivery" };
  for (const value of ["false", "true", "0", "1", '""', '"webhook"', "[]", `[${delivery()}]`]) {
    assert.deepEqual(deliveryRefusal(value), expected, value);
    for (const parse of [parseProvisionInstance, parseUpdateInstance]) {
      assert.deepEqual(refusal(parse, `{"delivery":${value}}`), expected, value);
    }
  }
});

test("a null delivery removes the receiver in an update, and is rejected in a provisioning", () => {
  const body = parseJson('{"delivery":null}');
  assert.equal(parseUpdateInstance(body, WEBHOOKS).delivery, null);
  assert.throws(() => parseProvisionInstance(body, WEBHOOKS), { param: "delivery" });
  const renaming = parseUpdateInstance(parseJson('{"instance_name":"b"}'), WEBHOOKS);
  assert.equal(renaming.delivery, undefined);
});

test("[delivery.input.shape] a missing, null or mistyped field of a delivery is named", () => {
  for (const name of ["type", "url", "registration_id", "signing_secret"]) {
    for (const value of [undefined, "null", "1", "true", "{}", "[]", '["webhook"]']) {
      const expected = { code: "invalid_request", param: `delivery.${name}` };
      assert.deepEqual(deliveryRefusal(delivery({ [name]: value })), expected, `${name}: ${value}`);
    }
  }
});

test("[delivery.input.shape] an unknown field of a delivery is named, with a bound", () => {
  const param = (name: string) => {
    const refused = deliveryRefusal(delivery({ [name]: "1" }));
    assert.equal(refused.code, "invalid_request");
    return refused.param ?? "";
  };
  assert.equal(param("headers"), "delivery.headers");
  assert.equal(param("Url"), "delivery.Url");
  assert.equal(param("\\u005f_proto__"), "delivery.__proto__");
  assert.equal(param(""), "delivery");
  const long = param(`${"x".repeat(199)}😀${"y".repeat(10_000)}`);
  assert.ok(long.length <= 212 && long.isWellFormed(), `${long.length} characters`);
});

test("[delivery.input.type] a type other than webhook is rejected as unsupported", () => {
  const expected = { code: "unsupported_delivery_type", param: "delivery.type" };
  for (const type of ["", "Webhook", "webhook ", "webhooks", "email", "sqs", "carrier-pigeon"]) {
    assert.deepEqual(deliveryRefusal(delivery({ type: JSON.stringify(type) })), expected, type);
  }
});

test("[delivery.input.type] the type is judged before what only another transport would have", () => {
  const other = '{"loft":"north","url":7,"type":"carrier-pigeon"}';
  const unsupported = { code: "unsupported_delivery_type", param: "delivery.type" };
  assert.deepEqual(deliveryRefusal(other), unsupported);
  const untyped = { code: "invalid_request", param: "delivery.type" };
  assert.deepEqual(deliveryRefusal('{"loft":"north"}'), untyped);
  assert.deepEqual(deliveryRefusal("{}"), untyped);
});

test("[delivery.url.syntax] a malformed or unsafe URL has a code of its own", () => {
  const urls = ["", "http://example.com/", "https://a@b.com/", "https://a.com/#", "https://db/"];
  for (const url of [...urls, "https://127.1/", "https://a.local/", "https://a.com:22/"]) {
    const expected = { code: "invalid_webhook_url", param: "delivery.url" };
    assert.deepEqual(deliveryRefusal(delivery({ url: JSON.stringify(url) })), expected, url);
  }
});

test("an internal name is a receiver where the operator allowed it", () => {
  const rules = { webhooks: true, internalNames: true };
  const body = parseJson(`{"delivery":${delivery({ url: '"https://db.local:8443"' })}}`);
  assert.equal(parseProvisionInstance(body, rules).delivery?.url.host, "db.local");
  assert.equal(parseUpdateInstance(body, rules).delivery?.url.authority, "db.local:8443");
});

test("[delivery.input.registration-id] a UUID of any version keeps its spelling", () => {
  const ids = [
    REGISTRATION_ID,
    REGISTRATION_ID.toUpperCase(),
    "019CAD9c-8813-129c-0c30-E0604515ced9",
  ];
  ids.push("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff");
  for (const id of ids) {
    const body = parseJson(`{"delivery":${delivery({ registration_id: `"${id}"` })}}`);
    assert.equal(parseProvisionInstance(body, WEBHOOKS).delivery?.registrationId, id);
  }
});

test("[delivery.input.registration-id] text other than a UUID is rejected", () => {
  const id = REGISTRATION_ID;
  const wrong = ["", "x", id.slice(1), `${id}0`, ` ${id}`, `${id}\n`, id.replaceAll("-", "")];
  for (const text of [...wrong, `{${id}}`, `urn:uuid:${id}`, id.replace("0", "g")]) {
    const refused = deliveryRefusal(delivery({ registration_id: JSON.stringify(text) }));
    const expected = { code: "invalid_request", param: "delivery.registration_id" };
    assert.deepEqual(refused, expected, text);
  }
});

test("[delivery.input.secret] an invalid secret is rejected, and no message contains it", () => {
  const encoded = SECRET.slice(6);
  const wrong = ["", "whsec_", encoded, SECRET.slice(0, -1), `${SECRET}\n`, `${SECRET}=`];
  for (const secret of [...wrong, `whsec_${encoded.slice(0, -2)}9=`, "whsec_c2hvcnQ="]) {
    const text = delivery({ signing_secret: JSON.stringify(secret) });
    const expected = { code: "invalid_request", param: "delivery.signing_secret" };
    assert.deepEqual(deliveryRefusal(text), expected, secret);
    assert.throws(
      () => parseProvisionInstance(parseJson(`{"delivery":${text}}`), WEBHOOKS),
      (error) => error instanceof Problem && !error.message.includes(encoded.slice(0, 20)),
    );
  }
});

test("no refusal of another field repeats the secret", () => {
  const others = { type: '"email"', url: '"x"', registration_id: '"x"', more: "1" };
  for (const [name, value] of Object.entries(others)) {
    const body = parseJson(`{"delivery":${delivery({ [name]: value })}}`);
    assert.throws(
      () => parseUpdateInstance(body, WEBHOOKS),
      (error) => {
        assert.ok(error instanceof Problem);
        return !`${error.message} ${error.param}`.includes(SECRET.slice(6, 26));
      },
    );
  }
});

test("the fingerprint of an input depends on its delivery", () => {
  const canonical = (text: string) => {
    return parseProvisionInstance(parseJson(`{"delivery":${text}}`), WEBHOOKS).canonical;
  };
  const secret = SECRET.replace("AAEC", "AAED");
  assert.equal(canonical(delivery()), canonical(delivery({ type: '"\\u0077ebhook"' })));
  assert.notEqual(canonical(delivery()), canonical(delivery({ signing_secret: `"${secret}"` })));
  const spelled = delivery({ registration_id: `"${REGISTRATION_ID.toUpperCase()}"` });
  assert.notEqual(canonical(delivery()), canonical(spelled));
});
