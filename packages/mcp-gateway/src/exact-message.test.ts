import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject, parseJson } from "@countersign/protocol";
import { digestOf } from "./definitions.ts";
import { seal, unseal } from "./envelope.ts";
import { readMessages, readServerMessages, withMembers, writeMessage } from "./exact-message.ts";

const TEXTS = [
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"n":9007199254740993,"__proto__":1.10}}',
  '{"jsonrpc":"2.0","id":"a\\"b","result":{"x":"\\u0041","y":-0,"2":1,"1":2}}',
  '{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"no","data":1e400}}',
  '{"jsonrpc":"2.0","method":"notifications/x"}',
];

test("[ours.mcp.exact] a message that is read and written is the same text, also through a transport", () => {
  for (const text of TEXTS) {
    const [message] = readMessages(text);
    assert.ok(message);
    assert.equal(writeMessage(message), text);
    const carried: unknown = JSON.parse(JSON.stringify(seal(message)));
    assert.equal(unseal(carried), text);
  }
});

test("[ours.mcp.exact] JSON that two parsers could read differently is rejected", () => {
  for (const text of [
    '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}',
    '{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\\ud800"}}',
    '{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}',
    '{"jsonrpc":"2.0","id":null,"method":"x"}',
    '{"jsonrpc":"2.0","id":{},"method":"x"}',
    '{"jsonrpc":"2.0","id":1,"result":{},"error":{}}',
    '{"jsonrpc":"2.0","id":1,"method":"x\ny"}',
    "[]",
    "[[]]",
    "1",
  ]) {
    assert.throws(() => readMessages(text), text);
  }
});

test("[ours.mcp.exact] line breaks between the tokens become spaces, before the request is submitted", () => {
  const [message] = readMessages('{"jsonrpc":"2.0",\r\n"method":"x","params":{"a":\n1.0}}');
  assert.ok(message?.kind === "notification");
  assert.equal(message.params?.source, '{"a": 1.0}');
});

test("[ours.mcp.passes] lone surrogates of a server are replaced and reported; other errors are not", () => {
  const text = '{"jsonrpc":"2.0","id":1,"result":{"text":"\\ud83d"}}';
  const { messages, isExact } = readServerMessages(text);
  assert.equal(isExact, false);
  const [message] = messages;
  assert.ok(message && writeMessage(message).includes("\ufffd"));
  assert.throws(() => readServerMessages("{"));
});

test("[ours.mcp.exact] one member is changed and the others keep their text", () => {
  const object = parseJson('{"name":"a", "n":1.10,"_meta":{ "x": 1 }}') as JsonObject;
  const { source } = withMembers(object, { name: '"b"', gone: undefined });
  assert.equal(source, '{"name":"b","n":1.10,"_meta":{ "x": 1 }}');
});

test("[ours.mcp.changed] the digest of a definition depends on its content, not on its key order", () => {
  const digest = (text: string) => digestOf(parseJson(text) as JsonObject);
  assert.equal(
    digest('{"name":"a","x":{"b":1,"a":[1,2]}}'),
    digest('{"x":{"a":[1,2],"b":1}, "name":"a"}'),
  );
  assert.notEqual(digest('{"name":"a","x":[1,2]}'), digest('{"name":"a","x":[2,1]}'));
  assert.notEqual(digest('{"name":"a"}'), digest('{"name":"a","description":""}'));
});
