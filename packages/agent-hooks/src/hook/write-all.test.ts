import assert from "node:assert/strict";
import { test } from "node:test";
import { writeAll } from "./write-all.ts";

/** A pipe: each number is how many bytes it takes, each text the code of an error. */
function pipe(...outcomes: (number | string)[]) {
  let written = "";
  const waits: number[] = [];
  const write = (_: 1 | 2, bytes: Uint8Array) => {
    const outcome = outcomes.shift() ?? bytes.length;
    if (typeof outcome === "string") throw Object.assign(new Error(outcome), { code: outcome });
    written += Buffer.from(bytes.subarray(0, outcome)).toString();
    return outcome;
  };
  const wait = (ms: number) => waits.push(ms);
  return { ports: { write, wait }, waits, written: () => written };
}

test("[ours.adapters.hook.stalled] a full pipe: one wait before each attempt, and the whole answer arrives", () => {
  const { ports, waits, written } = pipe("EAGAIN", "EAGAIN", 3, "EAGAIN");
  assert.equal(writeAll(1, "answer", ports), true);
  assert.equal(written(), "answer\n");
  assert.equal(waits.length, 3);
  assert.ok(waits.every((ms) => ms >= 1));
});

test("[ours.adapters.hook.stalled] a closed pipe returns false without a wait", () => {
  const { ports, waits } = pipe(3, "EPIPE");
  assert.equal(writeAll(1, "answer", ports), false);
  assert.deepEqual(waits, []);
});
