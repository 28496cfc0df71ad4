/** Holds contract/openapi.yaml against the contract's tables, and its examples against itself. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createConfig, lint } from "@redocly/openapi-core";
import {
  EXTENSIONS_PATH,
  examplesUnder,
  keysOf,
  loadOpenApi,
  OPENAPI_PATH,
  operationsOf,
  type Place,
  responseValidator,
} from "./load-openapi.ts";

const openApi = loadOpenApi();

const ID = "019cebab-8995-71f5-8b91-45b24d108d7a";
const EARLIER = "2026-03-14T09:26:53.589Z";
const LATER = "2026-03-14T09:32:41.902Z";

for (const [what, ref] of [
  ["the description", OPENAPI_PATH],
  ["the description of the extensions", EXTENSIONS_PATH],
] as const) {
  test(`${what} lints without an error or a warning`, async () => {
    const config = await createConfig({
      extends: ["recommended"],
      rules: {
        // By default, the rule rejects properties that a schema does not list. It rejects every
        // object with if and then, because a branch does not list the properties of its parent.
        "no-invalid-media-type-examples": { severity: "error", allowAdditionalProperties: true },
      },
    });
    const problems = await lint({ ref, config });
    const lines = problems.map(({ ruleId, message, location }) => {
      return `${location[0]?.pointer}: ${message} (${ruleId})`;
    });
    assert.deepEqual(lines, []);
  });
}

describe("the description as a document", () => {
  test("names the contract and its version", () => {
    assert.equal(at(["info", "title"]).value, "Approval Provider Interface");
    assert.equal(at(["info", "version"]).value, "1.0.0");
  });

  test("every body, parameter and header has an example, and every example is valid", () => {
    const faults: string[] = [];
    let count = 0;
    for (const { schema, pointer, value } of examplesUnder(openApi, openApi.root)) {
      count += 1;
      faults.push(...openApi.violations(schema, value, `${pointer} `));
    }
    assert.deepEqual(faults, []);
    assert.ok(count > 50, `only ${count} examples were found`);
  });
});

/** @see contract: Endpoints, Provider operations, and "Error statuses" of each */
const PROVIDER_OPERATIONS = {
  provisionInstance: {
    at: "post /v1/instances",
    security: [{ provisionerToken: [] }],
    parameters: ["Idempotency-Key"],
    statuses: [200, 201, 400, 401, 403, 409, 422, 429, 500, 503],
  },
  getInstance: {
    at: "get /v1/instances/{id}",
    security: [{ provisionerToken: [] }],
    parameters: ["id"],
    statuses: [200, 401, 403, 404, 429, 500, 503],
  },
  updateInstance: {
    at: "patch /v1/instances/{id}",
    security: [{ provisionerToken: [] }],
    parameters: ["Idempotency-Key", "id"],
    statuses: [200, 400, 401, 403, 404, 409, 422, 429, 500, 503],
  },
  deleteInstance: {
    at: "delete /v1/instances/{id}",
    security: [{ provisionerToken: [] }],
    parameters: ["id"],
    statuses: [204, 401, 403, 404, 429, 500, 503],
  },
  createApprovalRequest: {
    at: "post /v1/requests",
    security: [{ instanceCredential: [] }],
    parameters: ["Idempotency-Key"],
    statuses: [200, 201, 400, 401, 403, 409, 429, 500, 503],
  },
  getApprovalRequest: {
    at: "get /v1/requests/{id}",
    security: [{ instanceCredential: [] }],
    parameters: ["id", "wait?"],
    statuses: [200, 400, 401, 403, 404, 429, 500, 503],
  },
  cancelApprovalRequest: {
    at: "delete /v1/requests/{id}",
    security: [{ instanceCredential: [] }],
    parameters: ["id"],
    statuses: [200, 401, 403, 404, 409, 429, 500, 503],
  },
};

describe("the operations", () => {
  test("are exactly the contract's seven, with exactly its statuses", () => {
    const declared: Record<string, unknown> = {};
    for (const [name, operation] of operationsOf(openApi, "paths")) {
      const [path = "", method = ""] = operation.pointer.split("/").slice(2);
      declared[name] = {
        at: `${method} ${path.replaceAll("~1", "/")}`,
        security: openApi.child(operation, "security")?.value,
        parameters: parameterNames(operation).toSorted(),
        statuses: keysOf(step(operation, "responses").value).map(Number),
      };
    }
    assert.deepEqual(declared, PROVIDER_OPERATIONS);
  });

  test("carry X-Request-ID on every response and Retry-After on 429 and 503 alone", () => {
    for (const [name, operation] of operationsOf(openApi, "paths")) {
      const responses = step(operation, "responses");
      for (const status of keysOf(responses.value)) {
        const headers = step(step(responses, status), "headers");
        const where = `${name} ${status}`;
        const requestId = step(headers, "X-Request-ID");
        assert.equal(openApi.child(requestId, "required")?.value, true, where);
        const mayAskToWait = keysOf(headers.value).includes("Retry-After");
        assert.equal(mayAskToWait, status === "429" || status === "503", where);
      }
    }
  });

  test("answer every error with the one error body", () => {
    for (const [name, operation] of operationsOf(openApi, "paths")) {
      const responses = step(operation, "responses");
      for (const status of keysOf(responses.value).filter((key) => Number(key) >= 400)) {
        const mediaType = step(step(step(responses, status), "content"), "application/json");
        const expected = { $ref: "#/components/schemas/ErrorResponse" };
        assert.deepEqual(step(mediaType, "schema").value, expected, `${name} ${status}`);
      }
    }
  });

  test("have the contract's two webhooks, each with its three headers, beside them", () => {
    const declared: Record<string, unknown> = {};
    for (const [name, operation] of operationsOf(openApi, "webhooks")) {
      declared[name] = {
        at: operation.pointer,
        parameters: parameterNames(operation),
        statuses: keysOf(step(operation, "responses").value),
      };
    }
    const parameters = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    assert.deepEqual(declared, {
      verifyWebhookReceiver: {
        at: "/webhooks/webhook.verification/post",
        parameters,
        statuses: ["200", "400", "401", "403", "429"],
      },
      deliverRequestResolved: {
        at: "/webhooks/request.resolved/post",
        parameters,
        statuses: ["400", "401", "429", "503", "2XX"],
      },
    });
  });
});

const PENDING = {
  id: ID,
  tool: "send_payment",
  arguments: { amount: 1250 },
  timeout: "15m",
  status: "pending",
  created_at: EARLIER,
  deadline_at: LATER,
};
const APPROVAL = { status: "approved", decided_at: EARLIER, expires_at: LATER };
const DENIAL = { status: "denied", decided_at: EARLIER };
const APPROVED = { ...PENDING, status: "approved", decision: APPROVAL };
const DENIED = { ...PENDING, status: "denied", decision: DENIAL };
const CANCELLED = { ...PENDING, status: "cancelled", decision: { ...DENIAL, status: "cancelled" } };
const EXPIRED = { ...PENDING, status: "expired", decision: { ...DENIAL, status: "expired" } };
const INSTANCE = { id: ID, name: "billing-agent" };
const DELIVERY = {
  type: "webhook",
  url: "https://receiver.example.com/a?b=c",
  registration_id: ID,
};
const SECRET = "whsec_ZXhhbXBsZS1zaWduaW5nLXNlY3JldC0zMi1ieXRlcyE=";
const DELIVERY_INPUT = { ...DELIVERY, signing_secret: SECRET };
const MINIMAL_REQUEST = { tool: "send_payment", arguments: {}, timeout: "90s" };
const ERROR = { type: "conflict", code: "already_terminal", message: "No.", request_id: ID };
const UNVERIFIED = { ...ERROR, type: "invalid_request", code: "webhook_verification_failed" };
const EVENT = { id: ID, type: "request.resolved", instance_id: ID, request_id: ID };

const GOOD: readonly (readonly [schema: string, what: string, value: unknown])[] = [
  ["ApprovalRequest", "a pending request without a decision", PENDING],
  ["ApprovalRequest", "an approved request that says until when", APPROVED],
  ["ApprovalRequest", "a denied request", DENIED],
  ["ApprovalRequest", "an expired request", EXPIRED],
  ["ApprovalRequest", "a cancelled request", CANCELLED],
  ["ApprovalRequest", "an empty explanation", { ...PENDING, agent_reasoning: "", context: {} }],
  ["CancelledApprovalRequest", "a cancelled request", CANCELLED],
  ["Decision", "a note", { ...DENIAL, note: "Too much." }],
  ["Instance", "no receiver", INSTANCE],
  ["Instance", "a receiver", { ...INSTANCE, delivery: DELIVERY }],
  [
    "WebhookDeliveryInput",
    "a receiver with a port",
    { ...DELIVERY_INPUT, url: "https://a.b:8443" },
  ],
  ["ProvisionInstanceRequest", "nothing at all", {}],
  ["ProvisionInstanceRequest", "a receiver", { delivery: DELIVERY_INPUT }],
  ["UpdateInstanceRequest", "a name alone", { instance_name: "a" }],
  ["UpdateInstanceRequest", "a receiver", { delivery: DELIVERY_INPUT }],
  ["UpdateInstanceRequest", "the removal of a receiver", { delivery: null }],
  ["CreateApprovalRequest", "only what is required", MINIMAL_REQUEST],
  ["Error", "a code of another provider", { ...ERROR, type: "internal", code: "on_fire_2" }],
  ["Error", "a failed verification", { ...UNVERIFIED, param: "delivery" }],
  ["RequestResolvedEvent", "an event", { ...EVENT, created_at: EARLIER }],
];

const BAD: readonly (readonly [schema: string, what: string, value: unknown])[] = [
  ["ApprovalRequest", "a pending request with a decision", { ...PENDING, decision: APPROVAL }],
  ["ApprovalRequest", "a null decision", { ...PENDING, decision: null }],
  ["ApprovalRequest", "an approved request without a decision", omit(APPROVED, "decision")],
  ["ApprovalRequest", "a denied request without a decision", omit(DENIED, "decision")],
  ["ApprovalRequest", "an expired request without a decision", omit(EXPIRED, "decision")],
  ["ApprovalRequest", "a cancelled request without a decision", omit(CANCELLED, "decision")],
  ["ApprovalRequest", "approved with a denial", { ...APPROVED, decision: DENIAL }],
  ["ApprovalRequest", "denied with an approval", { ...DENIED, decision: APPROVAL }],
  ["ApprovalRequest", "expired with a denial", { ...EXPIRED, decision: DENIAL }],
  ["ApprovalRequest", "cancelled with a denial", { ...CANCELLED, decision: DENIAL }],
  ["ApprovalRequest", "an unknown status", { ...PENDING, status: "waiting" }],
  ["ApprovalRequest", "an additional property", { ...PENDING, delivery: DELIVERY }],
  ["ApprovalRequest", "no arguments", omit(PENDING, "arguments")],
  ["ApprovalRequest", "a list of arguments", { ...PENDING, arguments: [] }],
  ["CancelledApprovalRequest", "a denied request", DENIED],
  ["Decision", "an approval without expires_at", omit(APPROVAL, "expires_at")],
  ["Decision", "a denial with expires_at", { ...DENIAL, expires_at: LATER }],
  ["Decision", "a null expires_at", { ...DENIAL, expires_at: null }],
  ["Decision", "a null note", { ...APPROVAL, note: null }],
  ["Decision", "a pending decision", { ...DENIAL, status: "pending" }],
  ["Instance", "an empty name", { ...INSTANCE, name: "" }],
  ["Instance", "a null receiver", { ...INSTANCE, delivery: null }],
  ["Instance", "a credential", { ...INSTANCE, credential: { token: "a" } }],
  ["Instance", "a signing secret", { ...INSTANCE, delivery: DELIVERY_INPUT }],
  ["WebhookDeliveryInput", "another transport", { ...DELIVERY_INPUT, type: "email" }],
  ["WebhookDeliveryInput", "plain HTTP", { ...DELIVERY_INPUT, url: "http://a.b/" }],
  ["WebhookDeliveryInput", "userinfo", { ...DELIVERY_INPUT, url: "https://me@a.b/" }],
  ["WebhookDeliveryInput", "a fragment", { ...DELIVERY_INPUT, url: "https://a.b/#c" }],
  ["WebhookDeliveryInput", "no secret", DELIVERY],
  ["WebhookDeliveryInput", "an additional property", { ...DELIVERY_INPUT, headers: {} }],
  ["ProvisionInstanceRequest", "a null receiver", { delivery: null }],
  ["UpdateInstanceRequest", "nothing to change", {}],
  ["UpdateInstanceRequest", "a null name", { instance_name: null }],
  ["UpdateInstanceRequest", "an additional property", { instance_name: "a", name: "a" }],
  ["CreateApprovalRequest", "an empty tool name", { ...MINIMAL_REQUEST, tool: "" }],
  [
    "CreateApprovalRequest",
    "a receiver of its own",
    { ...MINIMAL_REQUEST, delivery: DELIVERY_INPUT },
  ],
  ["CreateApprovalRequest", "a null explanation", { ...MINIMAL_REQUEST, agent_reasoning: null }],
  ["ErrorResponse", "a field beside error", { error: ERROR, id: ID }],
  ["Error", "an unknown type", { ...ERROR, type: "teapot" }],
  ["Error", "a code in camel case", { ...ERROR, code: "alreadyTerminal" }],
  ["Error", "a conflict of another type", { ...ERROR, type: "internal" }],
  ["Error", "a failed verification that names no field", UNVERIFIED],
  ["RequestResolvedEvent", "a decision", { ...EVENT, created_at: EARLIER, decision: APPROVAL }],
];

const SCALARS: Readonly<Record<string, { good: readonly string[]; bad: readonly string[] }>> = {
  Identifier: { good: [ID, ID.toUpperCase()], bad: ["", "7", `urn:uuid:${ID}`, `{${ID}}`] },
  Timestamp: {
    good: [EARLIER, "2026-03-14T09:26:53Z"],
    bad: [
      "2026-03-14",
      "2026-03-14T09:26:53+00:00",
      "2026-03-14 09:26:53Z",
      "2026-02-30T00:00:00Z",
    ],
  },
  Duration: {
    good: ["1s", "15m", "168h", "1000000000000s"],
    bad: ["", "0s", "01s", "1.5h", "-1s", "1d", "1 s", "1S", "PT1S", "90", "1s\n"],
  },
  SigningSecret: {
    good: [SECRET, `whsec_${"A".repeat(43)}=`],
    // One of each: no prefix, no padding, too short, URL alphabet, bits beyond the 32 bytes.
    bad: [
      SECRET.slice(6),
      SECRET.slice(0, -1),
      `whsec_${"A".repeat(42)}=`,
      `whsec_${"_".repeat(42)}A=`,
      `whsec_${"A".repeat(42)}B=`,
    ],
  },
};

describe("the schemas", () => {
  for (const [schema, what, value] of GOOD) {
    test(`${schema} accepts ${what}`, () => {
      assert.deepEqual(violations(schema, value), []);
    });
  }
  for (const [schema, what, value] of BAD) {
    test(`${schema} rejects ${what}`, () => {
      assert.notDeepEqual(violations(schema, value), []);
    });
  }
  for (const [schema, { good, bad }] of Object.entries(SCALARS)) {
    test(`${schema} accepts valid spellings and rejects invalid ones`, () => {
      const refused = good.filter((text) => violations(schema, text).length > 0);
      const accepted = bad.filter((text) => violations(schema, text).length === 0);
      assert.deepEqual({ refused, accepted }, { refused: [], accepted: [] });
    });
  }
});

describe("the response validator", () => {
  const validate = responseValidator(openApi);
  const headers = { "content-type": "application/json; charset=utf-8", "x-request-id": ID };

  test("accepts a response that conforms, whichever way its headers are given", () => {
    assert.deepEqual(validate("getApprovalRequest", 200, headers, PENDING), []);
    assert.deepEqual(validate("getApprovalRequest", 200, new Headers(headers), PENDING), []);
    assert.deepEqual(validate("deleteInstance", 204, { "X-Request-ID": ID }, undefined), []);
  });

  test("reports a status that the operation does not declare", () => {
    const expected = ["status 400 is not declared for getInstance"];
    assert.deepEqual(validate("getInstance", 400, headers, { error: ERROR }), expected);
  });

  test("reports a missing required header, and a header that is present but wrong", () => {
    const { "content-type": contentType } = headers;
    const missing = validate("getInstance", 200, { "content-type": contentType }, INSTANCE);
    assert.deepEqual(missing, ["header X-Request-ID is missing"]);
    const soon = { ...headers, "retry-after": "soon" };
    const [wrong = ""] = validate("getInstance", 503, soon, { error: ERROR });
    assert.match(wrong, /^header Retry-After must match pattern/);
  });

  test("reports another content type", () => {
    const html = { ...headers, "content-type": "text/html" };
    const expected = ["content type text/html is not declared"];
    assert.deepEqual(validate("getInstance", 200, html, INSTANCE), expected);
  });

  test("reports each violation of the schema with its place", () => {
    const body = { ...PENDING, status: "denied", decision: APPROVAL, extra: 1 };
    assert.deepEqual(validate("getApprovalRequest", 200, headers, body), [
      'body/decision/status must be equal to constant: "denied"',
      'body must NOT have additional properties: "extra"',
    ]);
  });

  test("reports a body where none is declared, and none where one is", () => {
    assert.deepEqual(validate("deleteInstance", 204, headers, {}), ["body must be absent"]);
    assert.deepEqual(validate("getInstance", 200, headers, undefined), ["body must be object"]);
  });

  test("throws for an operation that does not exist", () => {
    assert.throws(() => validate("approveRequest", 200, headers, {}), RangeError);
  });
});

function violations(schema: string, value: unknown): string[] {
  return openApi.violations(at(["components", "schemas", schema]), value, schema);
}

/** The names of an operation's parameters and its path's; optional ones end in a question mark. */
function parameterNames(operation: Place): string[] {
  const keys = operation.pointer.split("/").map((key) => key.replaceAll("~1", "/"));
  return [at(keys.slice(1, -1)), operation].flatMap((place) => {
    const list = openApi.child(place, "parameters");
    return keysOf(list?.value).map((key) => {
      const parameter = step(list ?? place, key);
      const required = openApi.child(parameter, "required")?.value === true;
      return `${step(parameter, "name").value}${required ? "" : "?"}`;
    });
  });
}

function at(keys: readonly string[]): Place {
  return keys.reduce(step, openApi.root);
}

function step(place: Place, key: string): Place {
  const next = openApi.child(place, key);
  assert.ok(next, `nothing at ${place.pointer} ${key}`);
  return next;
}

function omit(value: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
}
