import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ALL_TARGETS, fuzz } from "./fuzz.ts";
import { readCorpus } from "./inputs.ts";

after(async () => {
  for (const target of ALL_TARGETS) await target.end?.();
});

/** A budget of seconds in all; millions are for the command. */
const INPUTS: Readonly<Record<string, number>> = {
  json: 1_500,
  times: 1_500,
  url: 1_500,
  address: 1_500,
  headers: 1_500,
  signature: 1_500,
  condition: 400,
  policy: 150,
  exchange: 250,
  bytes: 250,
  "preview-shell": 150,
  "preview-sql": 1_500,
  "preview-urls": 100,
};

for (const target of ALL_TARGETS) {
  test(`[ours.fuzz] the ${target.name} target finds no violation in its corpus and in generated inputs`, async () => {
    for (const input of readCorpus(target.name)) await target.check(input);
    const { found } = await fuzz(target, INPUTS[target.name] ?? 0, 1, { isTimed: false });
    assert.deepEqual(found, []);
  });
}

test("[ours.fuzz] a failure is found, with its input and its error", async () => {
  const [json] = ALL_TARGETS;
  assert.ok(json);
  const check = (input: string) => assert.doesNotMatch(input, /proto/);
  const reported: string[] = [];
  const { found } = await fuzz({ ...json, check }, 500, 1, {
    isTimed: false,
    onFound: ({ input }) => reported.push(input),
  });
  assert.ok(found.length > 0);
  assert.deepEqual(
    found.map(({ input }) => input),
    reported,
  );
  for (const { input, what } of found) {
    assert.match(input, /proto/);
    assert.match(what, /AssertionError/);
  }
});
