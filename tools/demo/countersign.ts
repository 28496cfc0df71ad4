/**
 * Runs the command `countersign` as a process of its own.
 */

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const COMMAND = join(import.meta.dirname, "../../packages/cli/bin/countersign.js");

const execute = promisify(execFile);

/** Removes the settings of this machine's own countersign from the environment. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env);
  return Object.fromEntries(entries.filter(([name]) => !name.startsWith("COUNTERSIGN_")));
}

/** A command ended with another exit code than 0. */
export class CommandFailed extends Error {
  readonly stdout: string;

  constructor(
    args: readonly string[],
    { stdout = "", stderr = "" }: { readonly stdout?: string; readonly stderr?: string },
  ) {
    super(`countersign ${args.join(" ")}: ${stderr || stdout}`);
    this.stdout = stdout;
  }
}

/**
 * @returns what the command printed, without the last line break
 * @throws CommandFailed
 */
export async function countersign(
  args: readonly string[],
  reviewer?: { readonly url: string; readonly token: string },
): Promise<string> {
  const env = {
    ...ownEnvironment(),
    ...(reviewer && { COUNTERSIGN_URL: reviewer.url, COUNTERSIGN_TOKEN: reviewer.token }),
  };
  try {
    const { stdout } = await execute(process.execPath, [COMMAND, ...args], { env });
    return stdout.trimEnd();
  } catch (error) {
    throw new CommandFailed(args, error as { readonly stdout?: string; readonly stderr?: string });
  }
}

export interface RunningServer {
  readonly url: string;
  /** Resolves when the process has ended. */
  stop(): Promise<void>;
}

/**
 * Starts `countersign serve` on a free port and waits until it says where it listens. It may send
 * webhooks to this machine, as one does in development.
 *
 * @param certificate file of a root that it trusts besides the usual ones
 * @param settings more of its environment
 */
export async function startServer(
  data: string,
  certificate: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<RunningServer> {
  const args = [COMMAND, "serve", "--port", "0", "--data", data, "--json"];
  const env = {
    ...ownEnvironment(),
    NODE_ENV: "development",
    NODE_EXTRA_CA_CERTS: certificate,
    COUNTERSIGN_WEBHOOK_ALLOW_CIDRS: "127.0.0.0/8",
    ...settings,
  };
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"], env });
  const ended = once(child, "exit");
  for await (const line of createInterface({ input: child.stdout })) {
    const { event, address } = JSON.parse(line) as { event: string; address: string };
    if (event !== "server.started") continue;
    // The log of a demonstration is not read; it must not fill the pipe either.
    child.stdout.resume();
    const stop = async () => {
      child.kill("SIGTERM");
      await ended;
    };
    return { url: address, stop };
  }
  throw new Error("the server did not start");
}
