/**
 * An agent that guards one call and dies where it is told to. A point is passed before everything
 * that the world can see: every exchange, every piece of an answer, every step on the disk, the
 * tool's effect. Between two points nothing has happened, so dying there is dying at either.
 *
 * Started by: crash.test.ts, with its order as JSON. Prints the points that it passes.
 */

import { appendFileSync, writeSync } from "node:fs";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { Client, Gate } from "@countersign/sdk";
import { FileStore } from "@countersign/sdk/file-store";
import { type CrashOrder, crashCall, decide } from "./crash-order.ts";

const order = JSON.parse(process.argv[2] ?? "") as CrashOrder;

let passed = 0;

function point(what: string): void {
  writeSync(1, `${++passed} ${what}\n`);
  if (passed !== order.dieAt) return;
  process.kill(process.pid, "SIGKILL");
  // Not one step further, however long the signal takes.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

type Step = (...args: unknown[]) => unknown;

/** The same object, with a point before each of its steps. */
function watched<T extends object>(object: T, what: string, steps: readonly string[]): T {
  return new Proxy(object, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        if (steps.includes(String(name))) point(`${what} ${String(name)}`);
        return (member as Step).apply(target, args);
      };
    },
  });
}

const { open, mkdir } = fs;
fs.open = async (...args) => {
  point(`open ${args[1]}`);
  return watched(await open(...args), "file", ["writeFile", "sync", "close"]);
};
fs.mkdir = ((...args: Parameters<typeof mkdir>) => {
  point("mkdir");
  return mkdir(...args);
}) as typeof mkdir;
syncBuiltinESMExports();

/** The reviewer decides when the agent polls: after the submission, and before an answer. */
const observed: typeof fetch = async (input, init) => {
  point(`${init?.method} sent`);
  if (init?.method === "GET") await decide(order, String(input));
  const response = await fetch(input, init);
  point(`${init?.method} answered`);
  const pieces = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      point(`${init?.method} piece`);
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body?.pipeThrough(pieces) ?? null, response);
};

const gate = new Gate(new Client(order.url, order.token, { fetch: observed }), {
  store: new FileStore(order.folder),
});
const outcome = await gate.guard(crashCall(order), async ({ to }) => {
  point("tool starts");
  appendFileSync(order.effects, `${to}\n`);
  point("tool had its effect");
  await Promise.resolve();
  point("tool ends");
});
point(`outcome ${outcome.verdict.kind}`);
