/**
 * A server that the gateway starts as its child, on the child's stdin and stdout. The stderr of
 * the child is that of the gateway.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { getDefaultEnvironment } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { Channel, ChannelEvents } from "./channel.ts";
import { type Message, readServerMessages, writeMessage } from "./exact-message.ts";
import { LineWriter, readLines } from "./lines.ts";
import { explain, type Report } from "./report.ts";

export interface ChildOrder {
  readonly command: string;
  readonly args: readonly string[];
  /** Besides PATH, HOME and the like; nothing else of the gateway's environment is handed on. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
}

/** For each step of asking a child to go. */
const GRACE_MS = 2_000;

export class ChildChannel implements Channel {
  readonly #order: ChildOrder;
  readonly #bytesMax: number;
  readonly #report: Report;
  #child: ChildProcess | undefined;
  #writer: LineWriter | undefined;
  #closed: Promise<void> | undefined;

  constructor(order: ChildOrder, bytesMax: number, report: Report) {
    this.#order = order;
    this.#bytesMax = bytesMax;
    this.#report = report;
  }

  async start(events: ChannelEvents): Promise<void> {
    const { command, args, env, cwd } = this.#order;
    const child = spawn(command, args, {
      env: { ...getDefaultEnvironment(), ...env },
      stdio: ["pipe", "pipe", "inherit"],
      // Signals of a terminal go to its whole group; the gateway says itself when a child ends.
      detached: process.platform !== "win32",
      ...(cwd !== undefined && { cwd }),
    });
    await once(child, "spawn");
    child.on("error", () => {});
    this.#child = child;
    this.#writer = new LineWriter(child.stdin);
    const reading = this.#read(child, events);
    // Processes that the child has started may hold its stdout open.
    const gone = once(child, "exit").then(() => Promise.race([reading, sleep(GRACE_MS)]));
    Promise.race([reading, gone])
      .then(
        () => "the server ended",
        (error: unknown) => `the server could not be read: ${explain(error)}`,
      )
      .then(async (reason) => {
        // Nothing that cannot be heard goes on.
        await this.close();
        events.ended(`${reason} (${child.signalCode ?? `exit code ${child.exitCode}`})`);
      })
      .catch((error: unknown) => {
        this.#report("server_end_failed", { reason: explain(error) });
      });
  }

  async send(message: Message): Promise<void> {
    if (this.#writer === undefined) throw new Error("it was not started");
    await this.#writer.write(writeMessage(message));
  }

  /** As MCP wants it: its stdin ends, then SIGTERM, then SIGKILL, with all that it has started. */
  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const gone = hasEnded(child) ? Promise.resolve() : once(child, "exit");
    child.stdin?.end();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      const bound = new AbortController();
      const timer = sleep(GRACE_MS, undefined, { signal: bound.signal }).catch(() => {});
      await Promise.race([gone, timer]);
      bound.abort();
      if (hasEnded(child)) break;
      signalGroup(child, signal);
    }
    // Stops processes that a wrapper like npx leaves running.
    signalGroup(child, "SIGKILL");
    child.stdout?.destroy();
  }

  async #read(child: ChildProcess, events: ChannelEvents): Promise<void> {
    if (child.stdout === null) return;
    for await (const line of readLines(child.stdout, this.#bytesMax)) {
      // Some servers print a greeting. It is not a message, and does not belong on stdout.
      if (!line.startsWith("{") && !line.startsWith("[")) {
        this.#report("server_printed", { chars: line.length });
        continue;
      }
      const { messages, isExact } = readServerMessages(line);
      if (!isExact) this.#report("server_message_fixed", { chars: line.length });
      for (const message of messages) events.message(message);
    }
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? child.pid : -child.pid, signal);
  } catch {
    // All of them have ended.
  }
}
