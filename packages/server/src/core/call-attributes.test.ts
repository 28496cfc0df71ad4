import assert from "node:assert/strict";
import { test } from "node:test";
import { JsonObject, parseJson } from "@countersign/protocol";
import { callAttributes } from "./call-attributes.ts";

function attributesOf(context: string, tool = "deploy") {
  const parsed = parseJson(context);
  assert.ok(parsed instanceof JsonObject);
  const call = { projectId: "p", instanceId: "i", tool, server: undefined, context: parsed };
  return callAttributes(call);
}

test("[ours.telemetry.private] a span has the call id and session id of the context, and nothing else of it", () => {
  const attributes = attributesOf('{"call_id":"c1","session_id":"s1","cwd":"/srv/secret"}');
  assert.equal(attributes["gen_ai.tool.call.id"], "c1");
  assert.equal(attributes["gen_ai.conversation.id"], "s1");
  assert.doesNotMatch(JSON.stringify(attributes), /secret/);
});

test("a span leaves out a tool name of more than 256 characters, and an id of another type", () => {
  const attributes = attributesOf('{"call_id":7,"session_id":{}}', "x".repeat(257));
  assert.equal(attributes["gen_ai.tool.name"], undefined);
  assert.equal(attributes["gen_ai.tool.call.id"], undefined);
  assert.equal(attributes["gen_ai.conversation.id"], undefined);
});
