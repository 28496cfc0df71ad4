import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "@countersign/protocol";
import { LookLine } from "./look-line.ts";

const HERE = new AbortController().signal;

test("[ours.history.line] looks of one owner come one after another, and those of others do not wait", async () => {
  const line = new LookLine();
  const events: string[] = [];
  const holds = new Map<string, () => void>();
  const look = (name: string) => {
    return line.run(name.slice(0, 1), HERE, async () => {
      events.push(name);
      await new Promise<void>((resolve) => holds.set(name, resolve));
      if (name === "a2") throw new Error("failed");
      return name;
    });
  };
  const all = Promise.allSettled(["a1", "a2", "a3", "b1"].map(look));
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  for (const name of ["b1", "a1", "a2", "a3"]) {
    await turn();
    holds.get(name)?.();
  }
  const outcomes = (await all).map((one) => (one.status === "fulfilled" ? one.value : "failed"));
  assert.deepEqual(outcomes, ["a1", "failed", "a3", "b1"]);
  assert.deepEqual(events, ["a1", "b1", "a2", "a3"]);
  holds.clear();
  const again = look("a4");
  await turn();
  holds.get("a4")?.();
  assert.equal(await again, "a4");
});

test("[ours.history.line] too many are refused, and who has gone leaves their place and is not served", async () => {
  const line = new LookLine();
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const first = line.run("a", HERE, () => held);
  const gone = new AbortController();
  let served = 0;
  const count = async () => {
    served++;
  };
  const leaving = line.run("a", gone.signal, count);
  const waiting = Array.from({ length: 19 }, () => line.run("a", HERE, count));
  const isRefusal = (error: unknown) => error instanceof Problem && error.code === "rate_limited";
  await assert.rejects(line.run("a", HERE, count), isRefusal);
  await line.run("b", HERE, count);
  gone.abort();
  await assert.rejects(leaving, { name: "AbortError" });
  await assert.rejects(line.run("a", gone.signal, count), { name: "AbortError" });
  const late = line.run("a", HERE, count);
  await assert.rejects(line.run("a", HERE, count), isRefusal);
  release();
  await Promise.all([first, ...waiting, late]);
  assert.equal(served, 21);
});
