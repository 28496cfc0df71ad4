import assert from "node:assert/strict";
import test from "node:test";
import { Problem, parseJson } from "@countersign/protocol";
import * as v from "valibot";
import { toPlain } from "./exact.ts";
import { readBody, readQuery } from "./read-input.ts";
import { body, duration, limitParameter, text, wholeNumber } from "./schema.ts";

const SCHEMA = body({
  name: text(5),
  calls: v.optional(wholeNumber(1, 10)),
  lasts: v.optional(duration(0, 60_000)),
  inner: v.optional(body({ tags: v.optional(v.array(v.string("must be a list of texts"))) })),
});

function faultOf(run: () => unknown): [string | undefined, string] {
  try {
    run();
  } catch (error) {
    if (error instanceof Problem) return [error.param, error.message];
  }
  assert.fail("no problem was thrown");
}

const WRONG: readonly (readonly [json: string, param: string, message: string])[] = [
  ["[]", "body", "body must be a JSON object."],
  ["1", "body", "body must be a JSON object."],
  ["{}", "name", "name is required."],
  ['{"name":null}', "name", "name must be a string."],
  ['{"name":""}', "name", "name must not be empty."],
  ['{"name":"abcdef"}', "name", "name must not be longer than 5 characters."],
  ['{"name":"a","calls":11}', "calls", "calls must be a whole number from 1 to 10."],
  ['{"name":"a","calls":1.5}', "calls", "calls must be a whole number from 1 to 10."],
  ['{"name":"a","calls":1e400}', "calls", "calls must be a whole number from 1 to 10."],
  ['{"name":"a","lasts":"2m"}', "lasts", "lasts must not be longer than 1m."],
  ['{"name":"a","other":1}', "other", 'The body has an unknown field "other". Remove it.'],
  ['{"name":"a","inner":{"":1}}', "inner", 'The body has an unknown field "". Remove it.'],
  ['{"name":"a","inner":[]}', "inner", "inner must be a JSON object."],
  ['{"name":"a","inner":{"tags":["x",1]}}', "inner.tags", "inner.tags must be a list of texts."],
];

for (const [json, param, message] of WRONG) {
  test(`the body ${json} is refused with param ${param}: ${message}`, () => {
    assert.deepEqual(
      faultOf(() => readBody(SCHEMA, toPlain(parseJson(json)))),
      [param, message],
    );
  });
}

test("a checked body has durations in milliseconds", () => {
  const read = readBody(SCHEMA, toPlain(parseJson('{"name":"a","lasts":"30s"}')));
  assert.equal(read.lasts, 30_000);
});

test("an unknown query parameter is refused with the known ones", () => {
  const schema = v.strictObject({ limit: limitParameter });
  assert.deepEqual(
    faultOf(() => readQuery(schema, { limits: "5" })),
    ["limits", "Unknown query parameter limits. Known here: limit."],
  );
  assert.deepEqual(
    faultOf(() => readQuery(schema, { limit: ["5", "6"] })),
    ["limit", "limit must be given once."],
  );
  assert.deepEqual(
    faultOf(() => readQuery(schema, { limit: "500" })),
    ["limit", 'limit must be a whole number from 1 to 200, not "500".'],
  );
  assert.deepEqual(readQuery(schema, {}), { limit: 50 });
});
