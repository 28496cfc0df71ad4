/**
 * The protocol's Python package, driven by lines of JSON: see client.py.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

const PROGRAM = join(import.meta.dirname, "client.py");

/** An error that the package raised. */
export class ClientFault extends Error {
  /** Name of its class, like `ConflictError`. */
  readonly type: string;
  /** The provider's code, where the package passes it on. */
  readonly code: string | null;

  constructor({ type, code, message }: FaultAnswer) {
    super(`${type}: ${message}`);
    this.type = type;
    this.code = code;
  }
}

interface FaultAnswer {
  readonly type: string;
  readonly code: string | null;
  readonly message: string;
}

interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: FaultAnswer;
}

export interface PythonClient {
  /**
   * @param act an act of client.py
   * @throws ClientFault
   */
  act<T>(act: string, parameters?: Readonly<Record<string, unknown>>): Promise<T>;
  /** Resolves when the process has ended. */
  stop(): Promise<void>;
}

/**
 * @param python the interpreter of the environment that the package is in
 * @param signal ends the process, and with it all that is waited for
 */
export function startPythonClient(python: string, url: string, signal: AbortSignal): PythonClient {
  const env = { ...process.env, PROVIDER_URL: url, PYTHONUNBUFFERED: "1" };
  const child = spawn(python, [PROGRAM], { stdio: ["pipe", "pipe", "inherit"], env });
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  const ended = endOf(child, waiting);
  const kill = () => child.kill("SIGKILL");
  signal.addEventListener("abort", kill);
  createInterface({ input: child.stdout }).on("line", (line) => {
    const { id, result, error } = JSON.parse(line) as Answer;
    const promise = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) promise?.resolve(result);
    else promise?.reject(new ClientFault(error));
  });
  let count = 0;
  return {
    act<T>(act: string, parameters: Readonly<Record<string, unknown>> = {}): Promise<T> {
      count += 1;
      const promise = Promise.withResolvers<unknown>();
      if (child.exitCode !== null || child.signalCode !== null) return Promise.reject(gone());
      waiting.set(count, promise);
      child.stdin.write(`${JSON.stringify({ ...parameters, id: count, act })}\n`);
      return promise.promise as Promise<T>;
    },
    async stop() {
      signal.removeEventListener("abort", kill);
      child.stdin.end();
      await ended;
    },
  };
}

async function endOf(
  child: ChildProcess,
  waiting: Map<number, PromiseWithResolvers<unknown>>,
): Promise<void> {
  // The end of the process reports a failed write already.
  child.stdin?.on("error", () => {});
  await once(child, "close");
  for (const promise of waiting.values()) promise.reject(gone());
}

function gone(): Error {
  return new Error("the Python process has ended, or there was no time left for it");
}
