/**
 * Starts the agent of the folder `consumer` on each runtime, as a process that listens on this
 * machine.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Child, type Owner } from "@countersign/testing/child";
import { ownEnvironment } from "@countersign/testing/countersign";
import { rolldown } from "rolldown";
import type { Runtimes } from "./find-runtimes.ts";

/** The environment variables of the agent. */
export type Variables = Readonly<Record<string, string>>;

export interface Host {
  readonly url: string;
  readonly process: Child;
}

/** @param project the folder of the compiled agent, with the SDK in its node_modules */
export type Start = (owner: Owner, project: string, variables: Variables) => Promise<Host>;

/** Runs a program on Deno without downloads and questions. */
export function denoRun(deno: string, permissions: readonly string[]): readonly string[] {
  return [deno, "run", "--no-remote", "--no-prompt", ...permissions];
}

/** The permissions of Deno that the agent needs, and no others. */
const DENO_PERMISSIONS = [
  "--allow-net=127.0.0.1,localhost",
  "--allow-env=COUNTERSIGN_URL,COUNTERSIGN_API_KEY,SIGNING_SECRETS",
];

/** The environment of all runtimes. Deno does not search for updates. */
export function environmentIn(project: string): NodeJS.ProcessEnv {
  return {
    ...ownEnvironment(),
    DENO_DIR: join(project, "deno"),
    DENO_NO_UPDATE_CHECK: "1",
    NO_COLOR: "1",
  };
}

export function hostsOn({ node22, bun, deno, workerd }: Runtimes): Readonly<Record<string, Start>> {
  return {
    "Node 24": (...args) => startProgram([process.execPath, "serve-node.js"], ...args),
    "Node 22": (...args) => startProgram([node22, "serve-node.js"], ...args),
    Bun: (...args) => startProgram([bun, "serve-bun.js"], ...args),
    Deno: (...args) => startProgram([...denoRun(deno, DENO_PERMISSIONS), "serve-deno.js"], ...args),
    "Cloudflare Workers": (...args) => startWorker(workerd, "worker-before-requests", [], ...args),
    "Cloudflare Workers without Node's modules": (...args) =>
      startWorker(workerd, "worker", WITHOUT_NODE, ...args),
  };
}

async function startProgram(
  command: readonly string[],
  owner: Owner,
  project: string,
  variables: Variables,
): Promise<Host> {
  const env = { ...environmentIn(project), ...variables };
  const child = new Child(owner, command, { cwd: project, env });
  const [, port] = await child.prints("stdout", /^port (\d+)$/m);
  return { url: `http://127.0.0.1:${port}/`, process: child };
}

/** Since 2026-08-04, Workers have environment variables and Node's modules by default. */
const COMPATIBILITY_DATE = "2026-10-01";
const WITHOUT_NODE = ["no_nodejs_compat", "no_nodejs_compat_v2"];

async function startWorker(
  workerd: string,
  name: string,
  flags: readonly string[],
  owner: Owner,
  project: string,
  variables: Variables,
): Promise<Host> {
  const module = await bundleWorker(project, name);
  const config = join(project, `${name}.capnp`);
  writeFileSync(config, workerConfiguration(module, flags, variables));
  const command = [workerd, "serve", config, "--control-fd=1"];
  const child = new Child(owner, command, { cwd: project, env: environmentIn(project) });
  const [, port] = await child.prints("stdout", /"event":"listen".*"port":(\d+)/);
  return { url: `http://127.0.0.1:${port}/`, process: child };
}

/** @returns the code of one module without imports */
async function bundleWorker(project: string, name: string): Promise<string> {
  const build = await rolldown({
    cwd: project,
    input: join(project, `${name}.js`),
    platform: "neutral",
  });
  const file = join(project, "bundled", `${name}.js`);
  const { output } = await build.write({ file, format: "esm" });
  await build.close();
  const [{ imports }] = output;
  if (imports.length > 0) throw new Error(`${name} needs ${imports.join(", ")}.`);
  return readFileSync(file, "utf8");
}

function workerConfiguration(code: string, flags: readonly string[], variables: Variables): string {
  const text = (value: string) => JSON.stringify(value);
  const bindings = Object.entries(variables).map(
    ([name, value]) => `(name = ${text(name)}, text = ${text(value)})`,
  );
  // The service "internet" of the runtime rejects addresses of this machine.
  return `using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (
      services = [
        (name = "agent", worker = .agent),
        (name = "loopback", network = (allow = ["local"])),
      ],
      sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "agent")],
    );
    const agent :Workerd.Worker = (
      modules = [(name = "agent", esModule = ${text(code)})],
      compatibilityDate = "${COMPATIBILITY_DATE}",
      compatibilityFlags = [${flags.map(text).join(", ")}],
      bindings = [${bindings.join(", ")}],
      globalOutbound = "loopback",
    );
  `;
}
