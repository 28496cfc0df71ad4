/**
 * The command `countersign` as a process of its own, and the server that it starts.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { Child, type Outcome, type Owner, temporaryFolder } from "./child.ts";

export const BIN = join(import.meta.dirname, "../../cli/bin/countersign.js");

const RATE_OPTIONS = [
  "instance-rate",
  "provisioner-rate",
  "reviewer-rate",
  "unauthenticated-rate",
  "webhook-account-rate",
  "webhook-host-rate",
  "webhook-address-rate",
  "webhook-account-verifications",
  "webhook-host-verifications",
];

/** Arguments of a server that limits no rate. */
export const NO_RATE_LIMITS: readonly string[] = RATE_OPTIONS.flatMap((name) => [`--${name}`, "0"]);

export interface Invocation {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Words before the command: a shell that sets limits, another runtime. */
  readonly under?: readonly string[];
}

/** Starts a command of `countersign` without waiting for its end. */
export function spawnCountersign(
  owner: Owner,
  args: readonly string[],
  invocation: Invocation = {},
): Child {
  return spawnProgram(owner, BIN, args, invocation);
}

/** Starts a program of a package without waiting for its end. */
export function spawnProgram(
  owner: Owner,
  bin: string,
  args: readonly string[],
  { env = {}, cwd, under = [] }: Invocation = {},
): Child {
  const command = [...under, process.execPath, bin, ...args];
  return new Child(owner, command, {
    env: { ...ownEnvironment(), ...env },
    ...(cwd !== undefined && { cwd }),
  });
}

/** Runs a command to its end. */
export async function countersign(
  owner: Owner,
  args: readonly string[],
  invocation: Invocation = {},
): Promise<Outcome> {
  return spawnCountersign(owner, args, invocation).ends();
}

/** The environment of this process without its COUNTERSIGN_ variables. */
export function ownEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env);
  return Object.fromEntries(entries.filter(([name]) => !name.startsWith("COUNTERSIGN_")));
}

export interface ServerOptions extends Invocation {
  /** An existing data folder. Default: a temporary folder of the owner. */
  readonly data?: string;
  /** Further arguments. */
  readonly args?: readonly string[];
}

export class Server {
  readonly url: string;
  readonly data: string;
  readonly process: Child;
  /** Variables that it was started with. They can name its database. */
  readonly env: Readonly<Record<string, string>>;

  constructor(url: string, data: string, process: Child, env: Server["env"] = {}) {
    this.url = url;
    this.data = data;
    this.process = process;
    this.env = env;
  }

  get database(): string {
    return join(this.data, "countersign.db");
  }

  get port(): string {
    return new URL(this.url).port;
  }

  /** Stops it as an operator does. */
  async stop(): Promise<Outcome> {
    const outcome = await this.process.end("SIGTERM");
    assert.equal(outcome.code, 0, outcome.stderr);
    return outcome;
  }

  /** Stops it as a power failure does. */
  async kill(): Promise<void> {
    await this.process.end("SIGKILL");
  }
}

/** Starts `countersign serve` on a free port and waits until it prints its address. */
export async function startServer(owner: Owner, options: ServerOptions = {}): Promise<Server> {
  const { data = join(temporaryFolder(owner), "data"), args = [], ...invocation } = options;
  const words = ["serve", "--port", "0", "--data", data, "--json", ...args];
  const child = spawnCountersign(owner, words, invocation);
  const pattern = /"event":"server\.started","address":"([^"]+)"/;
  const [, url = ""] = await child.prints("stdout", pattern);
  return new Server(url, data, child, invocation.env);
}
