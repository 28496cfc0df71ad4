import assert from "node:assert/strict";
import { test } from "node:test";
import { deduplicateReads } from "./deduplicate-reads.ts";
import type { Answer, Kind, Statement } from "./statement-batch.ts";

const READ: Kind = "read";
const LOCK: Kind = "lock";
const WRITE: Kind = "write";

/** The statements that remain, and the answer that each given statement receives. */
function ask(...kinds: readonly (Kind | readonly [Kind, string])[]) {
  const answers: (Answer | unknown)[] = kinds.map(() => "nothing");
  const statements = kinds.map((asked, i): Statement => {
    const [kind, value] = typeof asked === "string" ? ([asked, "a"] as const) : asked;
    const settle = (answer: unknown) => {
      answers[i] = answer;
    };
    return { kind, text: kind, values: [value], name: kind, resolve: settle, reject: settle };
  });
  const sent = deduplicateReads(statements);
  return { answers, sent, kinds: sent.map(({ kind }) => kind) };
}

test("the same read of one message is made once, behind the last lock", () => {
  const { kinds } = ask(LOCK, READ, [LOCK, "b"], READ, [LOCK, "c"], READ);
  assert.deepEqual(kinds, [LOCK, LOCK, LOCK, READ]);
});

test("reads with other values, locks and writes are all made, in their order", () => {
  const order = [READ, [READ, "b"], LOCK, LOCK, WRITE, WRITE] as const;
  assert.deepEqual(
    ask(...order).kinds,
    order.map((asked) => (typeof asked === "string" ? asked : asked[0])),
  );
});

test("reads on two sides of a write stay two", () => {
  assert.deepEqual(ask(READ, WRITE, READ, READ).kinds, [READ, WRITE, READ]);
});

test("every caller of a shared read gets its own rows", () => {
  const { answers, sent } = ask(READ, READ);
  sent[0]?.resolve({ rows: [{ stamp: 1 }], count: 1, command: "SELECT" });
  const [first, second] = answers as [Answer, Answer];
  assert.deepEqual(first, { rows: [{ stamp: 1 }], count: 1, command: "SELECT" });
  assert.deepEqual(second, first);
  assert.notEqual(first.rows[0], second.rows[0]);
});

test("every caller of a shared read gets its failure", () => {
  const { answers, sent } = ask(READ, READ);
  const error = new RangeError("no");
  sent[0]?.reject(error);
  assert.deepEqual(answers, [error, error]);
});
