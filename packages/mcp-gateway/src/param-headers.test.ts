import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject, parseJson } from "@countersign/protocol";
import { paramHeadersOf, paramValues } from "./param-headers.ts";

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
