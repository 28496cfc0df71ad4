import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { test } from "node:test";
import { claimFiles, createQueue } from "./queue.ts";

test("each file of a queue is taken once, in the order of the queue", (t) => {
  const paths = ["a.test.ts", "b.test.ts", "c.test.ts"];
  const folder = createQueue(paths);
  t.after(() => rmSync(folder, { recursive: true }));
  const [one, other] = [claimFiles(folder), claimFiles(folder)];
  const taken = [one.next(), other.next(), one.next(), other.next(), one.next()];
  assert.deepEqual(
    taken.map(({ value }) => value),
    [...paths, undefined, undefined],
  );
});
