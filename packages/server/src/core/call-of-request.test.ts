import assert from "node:assert/strict";
import { test } from "node:test";
import { callOfRequest } from "./call-of-request.ts";

const STORED = { tool: '"edit"', server: null, arguments: '{"a":1}', context: null };

test("[ours.request.signals] a stored call has its names, arguments and reported folder", () => {
  const plain = callOfRequest(STORED);
  assert.deepEqual([plain?.tool, plain?.server, plain?.cwd], ["edit", undefined, undefined]);
  assert.equal(plain?.args.source, '{"a":1}');
  const named = callOfRequest({ ...STORED, server: '"files"', context: '{"cwd":"/repo"}' });
  assert.deepEqual([named?.server, named?.cwd], ["files", "/repo"]);
});

test("[ours.request.signals] a stored call with long arguments or context is bounded", () => {
  const long = JSON.stringify({ cwd: "a".repeat(400_000) });
  assert.equal(callOfRequest({ ...STORED, arguments: long }), undefined);
  assert.equal(callOfRequest({ ...STORED, context: long })?.cwd, undefined);
});
