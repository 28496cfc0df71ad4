/**
 * Child processes that cannot outlive the benchmark: each ends when its channel closes, and
 * whatever still runs when the benchmark exits is killed by its process id.
 */

import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";

const running = new Set<ChildProcess>();

process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const) {
  process.once(signal, () => process.exit(code));
}

/** Message to a server: measure the event loop from now on. It answers each message. */
export const WATCH_LOOP = "watch-loop";

/** The command `countersign` of the repository. */
export const CLI = `${import.meta.dirname}/../packages/cli/bin/countersign.js`;

/** A server that migrates a large database before it is ready takes long. */
const MESSAGE_MS_MAX = 180_000;
const END_MS_MAX = 30_000;

export interface Child<T> {
  readonly pid: number;
  readonly process: ChildProcess;
  /** The message that the child sent when it was ready. */
  readonly ready: T;
  ask<A>(message: string | object): Promise<A>;
  stop(): Promise<void>;
}

export interface Program {
  readonly file: string;
  readonly args?: readonly string[];
  readonly nodeArgs?: readonly string[];
  /** Where its standard output goes; nowhere when undefined. */
  readonly outputFile?: string | undefined;
  /** Added to that of the benchmark. */
  readonly environment?: NodeJS.ProcessEnv | undefined;
}

/** Starts a script of this folder and waits for its first message. */
export async function startChild<T>(program: Program): Promise<Child<T>> {
  const { file, args = [], nodeArgs = [], outputFile, environment } = program;
  const output = outputFile === undefined ? undefined : openSync(outputFile, "a");
  const stdio: StdioOptions = ["ignore", output ?? "ignore", "inherit", "ipc"];
  const script = `${import.meta.dirname}/${file}`;
  const variables = { ...process.env, ...environment };
  const child = spawnTracked([...nodeArgs, script, ...args], stdio, variables);
  if (output !== undefined) closeSync(output);
  const ready = await nextMessage<T>(child, file);
  const endedByItself = () => console.error(`${file} ended by itself`);
  child.once("exit", endedByItself);
  const stop = () => {
    child.off("exit", endedByItself);
    return stopChild(child, () => child.disconnect());
  };
  const ask = <A>(message: string | object) => {
    child.send(message);
    return nextMessage<A>(child, file);
  };
  return { pid: child.pid ?? 0, process: child, ready, ask, stop };
}

/** Starts Node, or another program, with these arguments; it is killed when the benchmark exits. */
export function spawnTracked(
  args: readonly string[],
  stdio: StdioOptions,
  environment = process.env,
  command = process.execPath,
): ChildProcess {
  const child = spawn(command, [...args], { stdio, env: environment });
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

/** Asks a child to end and waits until it has; kills it when that takes too long. */
export async function stopChild(child: ChildProcess, ask: () => void): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const impatience = setTimeout(() => child.kill("SIGKILL"), END_MS_MAX);
  ask();
  await ended;
  clearTimeout(impatience);
}

function nextMessage<T>(child: ChildProcess, name: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      clearTimeout(timer);
      child.off("exit", exited);
      child.off("message", received);
    };
    const fail = (reason: string) => {
      settle();
      reject(new Error(`${name} ${reason}`));
    };
    const exited = () => fail("ended before it sent a message");
    const received = (message: unknown) => {
      settle();
      resolve(message as T);
    };
    const waited = () => fail(`sent no message for ${MESSAGE_MS_MAX / 1_000} s`);
    const timer = setTimeout(waited, MESSAGE_MS_MAX);
    child.once("exit", exited);
    child.once("message", received);
  });
}

/** Resident memory of a process, in MB of a million bytes. */
export function residentMb(pid: number): number {
  return memoryMb(pid, /^VmRSS:\s*(\d+) kB/m);
}

/** The highest resident memory of a process so far, in MB. */
export function peakResidentMb(pid: number): number {
  return memoryMb(pid, /^VmHWM:\s*(\d+) kB/m);
}

/** @throws Error when the process has ended */
function memoryMb(pid: number, line: RegExp): number {
  const kib = line.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  if (kib === undefined) throw new Error(`process ${pid} has ended`);
  return (Number(kib) * 1024) / 1e6;
}

/** How often the threads of a process have been woken after they waited. Only on Linux. */
export function wakeUps(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  const counts = readdirSync(tasks).map((task) => {
    const status = readFileSync(`${tasks}/${task}/status`, "utf8");
    return Number(/^voluntary_ctxt_switches:\s*(\d+)/m.exec(status)?.[1]);
  });
  return counts.reduce((sum, each) => sum + each, 0);
}

/** The kernel counts in hundredths of a second on every common architecture. */
const TICKS_PER_S = 100;

/**
 * Processor seconds that a process has used on all its threads, in the kernel too.
 *
 * @param children whether those of its children that have ended and were waited for count as well
 */
export function cpuSeconds(pid: number, children?: "with those that ended"): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The second field, the name in parentheses, may hold anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const own = Number(fields[11]) + Number(fields[12]);
  const ended = children === undefined ? 0 : Number(fields[13]) + Number(fields[14]);
  return (own + ended) / TICKS_PER_S;
}
