/**
 * An agent that guards many calls at once. Each call stops at its own point. When all calls have
 * stopped, the agent reports it, and the test kills it. A point precedes every visible effect:
 * every exchange, every part of a response, every write to the disk, the tool's effect. Nothing
 * happens between two points, so a kill at one point covers every moment up to the next.
 *
 * Started by: crash.test.ts, with its orders as JSON. Prints the points that are passed.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { appendFileSync, writeSync } from "node:fs";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { ApprovalClient, Countersign } from "@countersign/sdk";
import { FileStore } from "@countersign/sdk/file-store";
import { type CrashOrder, crashCall, decide } from "./crash-order.ts";

const orders = JSON.parse(process.argv[2] ?? "") as readonly CrashOrder[];

/** Which call it is that reaches the disk. */
const current = new AsyncLocalStorage<Life>();

let stopped = 0;

/** One call, from its submission to its end or the point at which it stops. */
class Life {
  readonly order: CrashOrder;
  #passed = 0;

  constructor(order: CrashOrder) {
    this.order = order;
  }

  async point(what: string): Promise<void> {
    if (++this.#passed !== this.order.stopAt) {
      if (this.order.stopAt === 0) writeSync(1, `${what}\n`);
      return;
    }
    if (++stopped === orders.length) writeSync(1, "all have stopped\n");
    await new Promise(() => {});
  }

  async live(): Promise<void> {
    const { url, token, folder, effects } = this.order;
    const client = new ApprovalClient({ url: url, apiKey: token, fetch: this.#fetch });
    const approvals = new Countersign({ provider: client, store: new FileStore(folder) });
    const outcome = await approvals.run(crashCall(this.order), async ({ to }) => {
      await this.point("tool starts");
      appendFileSync(effects, `${to}\n`);
      await this.point("tool had its effect");
    });
    await this.point(`outcome ${outcome.status}`);
  }

  /** The reviewer decides when the agent polls: after the submission, and before an answer. */
  readonly #fetch: typeof fetch = async (input, init) => {
    await this.point(`${init?.method} is sent`);
    if (init?.method === "GET") await decide(this.order, String(input));
    const response = await fetch(input, init);
    await this.point(`${init?.method} is answered`);
    const pieces = new TransformStream<Uint8Array, Uint8Array>({
      transform: async (chunk, controller) => {
        await this.point(`${init?.method} has a piece`);
        controller.enqueue(chunk);
      },
    });
    return new Response(response.body?.pipeThrough(pieces) ?? null, response);
  };
}

type Step = (...args: unknown[]) => unknown;

/** The same object, with a point before each of its steps. */
function watched<T extends object>(object: T, steps: readonly string[]): T {
  return new Proxy(object, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return async (...args: unknown[]) => {
        if (steps.includes(String(name))) await current.getStore()?.point(`file ${String(name)}`);
        return (member as Step).apply(target, args);
      };
    },
  });
}

const { open, mkdir } = fs;
fs.open = async (...args) => {
  await current.getStore()?.point(`open ${args[1]}`);
  return watched(await open(...args), ["writeFile", "sync", "close"]);
};
fs.mkdir = (async (...args: Parameters<typeof mkdir>) => {
  await current.getStore()?.point("mkdir");
  return mkdir(...args);
}) as typeof mkdir;
syncBuiltinESMExports();

// Nothing else would keep a process in which everything has stopped.
if (orders.some(({ stopAt }) => stopAt > 0)) setInterval(() => {}, 60_000);

await Promise.all(
  orders.map((order) => {
    const life = new Life(order);
    return current.run(life, () => life.live());
  }),
);
