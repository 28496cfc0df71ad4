import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject, parseJson } from "@countersign/protocol";
import { findMismatch, paramHeadersOf, paramValues } from "./param-headers.ts";

function headersOf(inputSchema: object) {
  return paramHeadersOf(parseJson(JSON.stringify({ name: "t", inputSchema })) as JsonObject);
}

const REGION = { type: "string", "x-mcp-header": "Region" };

test("[ours.mcp.versions] x-mcp-header is invalid outside of properties, on other types and twice", () => {
  const invalid: readonly object[] = [
    REGION,
    { properties: { a: { type: "number", "x-mcp-header": "A" } } },
    { properties: { a: { "x-mcp-header": "A" } } },
    { properties: { a: { type: "string", "x-mcp-header": "" } } },
    { properties: { a: { type: "string", "x-mcp-header": "A\r\nHost: evil" } } },
    { properties: { a: { type: "string", "x-mcp-header": 1 } } },
    { properties: { a: { type: "array", items: REGION } } },
    { properties: { a: { anyOf: [REGION] } } },
    { $defs: { a: REGION } },
    { properties: { a: REGION, b: { ...REGION, "x-mcp-header": "region" } } },
  ];
  for (const schema of invalid) assert.throws(() => headersOf(schema), JSON.stringify(schema));
});

test("[ours.mcp.versions] a property or a default with the name x-mcp-header is not an annotation", () => {
  const named = { properties: { "x-mcp-header": { type: "string", default: REGION } } };
  assert.deepEqual(headersOf(named), []);
});

test("[ours.mcp.versions] headers have the values of arguments as text", () => {
  const headers = headersOf({
    properties: {
      region: REGION,
      dry: { type: "boolean", "x-mcp-header": "Dry" },
      options: { properties: { limit: { type: "integer", "x-mcp-header": "Limit" } } },
    },
  });
  const args = parseJson('{"region":null,"dry":false,"options":{"limit":4.2e1}}') as JsonObject;
  assert.deepEqual(paramValues(headers, args), {
    "mcp-param-dry": "false",
    "mcp-param-limit": "42",
  });
});

test("[ours.mcp.param-headers] headers agree with arguments by text, and by number for integers", () => {
  const headers = headersOf({
    properties: { region: REGION, limit: { type: "integer", "x-mcp-header": "Limit" } },
  });
  const differs = (args: string, received: Readonly<Record<string, string>>) => {
    const found = findMismatch(headers, parseJson(args) as JsonObject, received);
    return found?.name;
  };
  const both = '{"region":"42","limit":42}';
  const encoded = `=?base64?${Buffer.from("42").toString("base64")}?=`;
  const region = "mcp-param-region";
  const limit = "mcp-param-limit";
  assert.equal(differs(both, { [region]: "42", [limit]: "42.0" }), undefined);
  assert.equal(differs(both, { [region]: encoded, [limit]: "42" }), undefined);
  assert.equal(differs('{"region":null}', { [region]: "ignored" }), undefined);
  assert.equal(differs(both, { [region]: "42.0", [limit]: "42" }), "Region");
  assert.equal(differs(both, { [region]: "=?base64?*?=", [limit]: "42" }), "Region");
  assert.equal(differs(both, { [region]: "42" }), "Limit");
  for (const other of ["43", "", "x", "0x2a"]) {
    assert.equal(differs(both, { [region]: "42", [limit]: other }), "Limit", other);
  }
  const long = '{"limit":9007199254740993}';
  assert.equal(differs(long, { [limit]: "9007199254740992" }), "Limit");
  assert.equal(differs(long, { [limit]: "9007199254740993" }), undefined);
});
