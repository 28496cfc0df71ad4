/**
 * The process of a hook: reads the call from stdin, and answers by exit code, stdout and stderr.
 *
 * Agents run the tool after other exit codes than 0 and 2. So this exits in two ways: 0 with the
 * answer on stdout, or 2 with the reason on stderr and nothing on stdout. For the launcher of
 * Windows, ANSWERED replaces 0.
 */

import { parseArgs } from "node:util";
import {
  AGENTS,
  type Agent,
  findAgent,
  type HookOutput,
  INPUT_BYTES_MAX,
  type WindowsLauncher,
} from "@countersign/agents";
import { profileFile } from "../profile/folders.ts";
import { readHookSettings } from "../profile/hook-settings.ts";
import { WAIT_MS } from "../profile/profile.ts";
import { answerCall, type HookAnswer } from "./answer-call.ts";
import { ANSWERED } from "./answered.ts";
import { writeAll } from "./write-all.ts";

/** Exit codes as all agents read them. */
const GO = 0;
const BLOCK = 2;

/** Set if the launcher of Windows started this process. */
let launcher: WindowsLauncher | undefined;

/** Time after the window of a call in which the provider can still report that it expired. */
export const GRACE_MS = 30_000;

/** An agent writes its input immediately. */
const INPUT_MS_MAX = 60_000;

/** Interval of the check that the agent still runs. */
const PARENT_MS = 1_000;

/**
 * Ends the process.
 *
 * @param args after `hook`
 * @param program name of the program, for commands that error messages recommend
 */
export async function runHook(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  program: string,
): Promise<never> {
  process.exitCode = BLOCK;
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, (error) =>
      end(block(`The hook failed (${Object(error).code ?? "unknown error"}).`)),
    );
  }
  const abandoned = new AbortController();
  let isAsking = false;
  let output: HookOutput | undefined;
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.on(name, () => {
      // The first signal cancels the pending request. The second one does not wait for that.
      if (isAsking && !abandoned.signal.aborted) abandoned.abort();
      else end(STOPPED, output);
    });
  }
  watchParent(abandoned);
  const options = readArguments(args, program);
  if (typeof options === "string") return end(block(options));
  output = options.output;
  if (options.isLaunched && options.agent.windows.kind === "launcher") {
    launcher = options.agent.windows;
  }
  const bytes = await readInput();
  if (bytes === undefined) return end(TOO_LARGE, output);
  isAsking = true;
  const settings = () => {
    const { name } = options.agent;
    const read = readHookSettings({ agent: name, profile: options.profile, environment, program });
    boundBy(read.waitMs, abandoned);
    return read;
  };
  const { signal } = abandoned;
  const profile = options.profile ?? profileFile(options.agent.name, environment);
  const call = { agent: options.agent, output, bytes, settings, profile, signal, program };
  return end(await answerCall(call), output);
}

const TOO_LARGE = block("This call was not run: its input is larger than 16 MiB.");
const STOPPED: HookAnswer = block("This call was not run: the hook was stopped while it waited.");

interface HookArguments {
  readonly agent: Agent;
  /** The form of a denial before the event of the input is known. */
  readonly output: HookOutput;
  readonly profile: string | undefined;
  readonly isLaunched: boolean;
}

function readArguments(args: readonly string[], program: string): HookArguments | string {
  try {
    const options = {
      profile: { type: "string" },
      prompts: { type: "boolean" },
      launched: { type: "boolean" },
    } as const;
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const agent = findAgent(positionals[0]);
    const event = values.prompts ? agent?.promptEvent : agent?.events[0];
    if (agent !== undefined && event !== undefined && positionals.length === 1) {
      const { profile, launched: isLaunched = false } = values;
      return { agent, output: event.output, profile, isLaunched };
    }
  } catch {
    // The message below shows the usage.
  }
  const names = AGENTS.map(({ name }) => name).join("|");
  const usage = `${program} hook ${names} [--profile FILE] [--prompts]`;
  return `Invalid arguments of the hook. Usage: ${usage}.`;
}

/**
 * Reads all of stdin, even if it is too large: an agent that cannot write all of its input treats
 * that as a failure of the hook.
 *
 * @returns undefined if it is too large
 */
async function readInput(): Promise<Uint8Array | undefined> {
  if (process.stdin.isTTY) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  const timer = setTimeout(() => end(STOPPED), INPUT_MS_MAX);
  process.stdin.on("data", (chunk: Uint8Array) => {
    length += chunk.length;
    if (length <= INPUT_BYTES_MAX) chunks.push(chunk);
    else chunks.length = 0;
  });
  await new Promise((resolve, reject) => process.stdin.on("end", resolve).on("error", reject));
  clearTimeout(timer);
  return length > INPUT_BYTES_MAX ? undefined : Buffer.concat(chunks);
}

/** Ends the wait before the agent's own limit, past which the agent may run the tool. */
function boundBy(waitMs: number, abandoned: AbortController): void {
  // `performance` would load further modules of Node.
  const sinceStartMs = process.uptime() * 1_000;
  const leftMs = Math.max(0, (waitMs || WAIT_MS) + GRACE_MS - sinceStartMs);
  setTimeout(() => abandoned.abort(), leftMs).unref();
}

/** Cancels the request when the agent has ended without a signal. */
function watchParent(abandoned: AbortController): void {
  const parent = process.ppid;
  const check = () => {
    if (process.ppid !== parent) abandoned.abort();
  };
  setInterval(check, PARENT_MS).unref();
}

/** Exits with 2 where the agent has no denial for stdout, is unknown, or stdout is closed. */
function end(answer: HookAnswer, output?: HookOutput): never {
  // Checked immediately before the answer: the approval may have expired since the decision.
  const isAllowed = answer.kind === "say" && answer.mayStart();
  const reason = answer.kind === "block" ? answer.reason : "The approval ended before the call.";
  const denial = `Countersign: ${reason}`;
  const form = answer.kind === "block" ? (answer.output ?? output) : output;
  const denied = form?.denied ?? launcher?.denied;
  const text = isAllowed ? answer.text : denied?.(denial);
  if (text !== undefined && writeAll(1, text)) {
    return process.exit(launcher === undefined ? GO : ANSWERED);
  }
  writeAll(2, denial);
  return process.exit(BLOCK);
}

function block(reason: string): HookAnswer {
  return { kind: "block", reason, output: undefined };
}
