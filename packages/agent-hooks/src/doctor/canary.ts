/**
 * Submits a harmless call that should be denied. It runs the command in the agent's settings as the
 * agent does, with the input that the agent would send.
 */

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  type Agent,
  CANARY_TOOL,
  type CanaryArguments,
  eventsOf,
  type HookEvent,
  readHookInput,
} from "@countersign/agents";
import { ApprovalClient } from "@countersign/sdk";
import { submissionOf } from "../hook/answer-call.ts";
import type { HookSettings } from "../profile/hook-settings.ts";
import type { InstalledHook } from "./check-settings.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

/** Above the canary's own wait plus the time after which an unreachable provider fails. */
const CANARY_MS_MAX = 60_000;

interface Ran {
  /** Null if doctor stopped it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export async function runCanaries(
  agent: Agent,
  { event: name, command }: InstalledHook,
  settings: HookSettings | undefined,
  environment: NodeJS.ProcessEnv,
): Promise<Finding[]> {
  const installed = eventsOf(agent).find((each) => each.name === name) ?? agent.events[0];
  const event = process.platform === "win32" ? onWindows(installed, agent) : installed;
  const run = (input: string) => runAs(agent, command, input, environment);
  const garbled = await run('{"hook_event_name":');
  const findings = [judge(event, "canary.garbled", garbled, "Invalid input")];
  const bytes = Buffer.from(inputOf(agent, event));
  const ran = await run(bytes.toString());
  const blocked = judge(event, "canary.blocked", ran, "A call without approval");
  if (blocked.level === "fail" || settings === undefined) return [...findings, blocked];
  return [...findings, blocked, await confirm(agent, bytes, settings, ran)];
}

/** With the denial that the launcher prints. */
function onWindows(event: HookEvent, { windows }: Agent): HookEvent {
  const { output } = event;
  const denied = output.denied ?? (windows.kind === "launcher" ? windows.denied : undefined);
  return { ...event, output: { ...output, denied } };
}

/** The input of the agent for the canary, with new ids so that no earlier decision applies. */
function inputOf({ input, title }: Agent, { name, call }: HookEvent): string {
  const args: CanaryArguments = {
    note: `A test call of the hook for ${title}. Deny it or ignore it.`,
    id: randomUUID(),
  };
  const paths: Readonly<Record<string, unknown>> = {
    ...(input.event === undefined ? {} : { [input.event]: name }),
    ...(input.session === undefined ? {} : { [input.session]: randomUUID() }),
    ...(input.call === undefined ? {} : { [input.call]: randomUUID() }),
    ...("path" in call.tool ? { [call.tool.path]: CANARY_TOOL } : {}),
    [call.arguments]: call.isText ? JSON.stringify(args) : args,
  };
  const written: Record<string, unknown> = {};
  for (const [path, value] of Object.entries(paths)) assign(written, path.split("."), value);
  return JSON.stringify(written);
}

/** Sets the member at a path, and creates the objects that lead to it. */
function assign(
  object: Record<string, unknown>,
  [name = "", ...rest]: readonly string[],
  value: unknown,
): void {
  if (rest.length === 0) {
    object[name] = value;
    return;
  }
  const inner = Object(object[name]) as Record<string, unknown>;
  object[name] = inner;
  assign(inner, rest, value);
}

function judge({ output }: HookEvent, check: string, ran: Ran, what: string): Finding {
  const { code, stdout, stderr } = ran;
  if (code === 2 && stderr.trim() !== "") {
    if (stdout.trim() === "") return ok(check, `${what} is blocked.`);
    return warn(check, `${what} is blocked, and something else prints to stdout.`, PRINTS);
  }
  if (code === 0 && output.denied !== undefined && isDenial(stdout, output.denied)) {
    return ok(check, `${what} is denied.`);
  }
  if (code === null) {
    return fail(check, `${what} is not blocked: the hook does not end.`, "Read its stderr.");
  }
  const text = `${what} is not blocked: the hook ends with ${code}.`;
  return fail(check, text, code === 0 ? PRINTS : "Run install again.");
}

const PRINTS = "Something else writes to stdout, probably a shell startup file.";

/** True if the text is a denial in this form, with any reason. */
function isDenial(stdout: string, denied: (reason: string) => string): boolean {
  const reason = randomUUID();
  try {
    return isOfForm(JSON.parse(stdout), JSON.parse(denied(reason)), reason);
  } catch {
    return false;
  }
}

function isOfForm(value: unknown, form: unknown, reason: string): boolean {
  if (typeof form === "string" && form.includes(reason)) return typeof value === "string";
  if (typeof form !== "object" || form === null) return value === form;
  const members = Object.entries(form);
  const others = Object(value) as Record<string, unknown>;
  if (members.length !== Object.keys(others).length) return false;
  return members.every(([name, each]) => isOfForm(others[name], each, reason));
}

/**
 * Verifies that the hook has submitted the canary: its key with other arguments returns 409, and
 * the same key and input then return the request.
 */
async function confirm(
  agent: Agent,
  bytes: Uint8Array,
  settings: HookSettings,
  ran: Ran,
): Promise<Finding> {
  const { url, token: apiKey } = settings;
  const client = new ApprovalClient({ url, apiKey, retryFor: "10s" });
  const submission = submissionOf(readHookInput(bytes, agent), settings);
  try {
    const { status } = await client.create({ ...submission, arguments: {} }).then(
      async (made) => {
        if (made.status === "pending") await client.cancel(made);
        return { status: undefined };
      },
      (error: unknown) => {
        if (Object(error).status !== 409) throw error;
        return client.create(submission);
      },
    );
    if (status === undefined) {
      const words = ran.stderr.trim() || ran.stdout.trim();
      return fail(
        "canary.asked",
        `The hook blocks without a request to the provider: ${words}`,
        "Fix that.",
      );
    }
    if (status !== "approved") {
      return ok("canary.asked", `The provider received the canary, and it is ${status}.`);
    }
    const text = "The provider approves the canary automatically, so a denial was not tested.";
    return warn("canary.asked", text, `Deny the tool ${CANARY_TOOL} by policy.`);
  } catch (error) {
    const text = `The provider cannot be used: ${Object(error).message}`;
    return fail("canary.asked", text, "See the findings about the provider.");
  }
}

function runAs(agent: Agent, command: string, input: string, env: NodeJS.ProcessEnv): Promise<Ran> {
  const { promise, resolve } = Promise.withResolvers<Ran>();
  const isWindows = process.platform === "win32";
  // On Windows, no word of the command contains a space.
  const [file = "", ...words] = isWindows ? command.split(" ") : [...agent.shell(env), command];
  // In its own process group, so that its children can be stopped too.
  const child = spawn(file, words, { stdio: "pipe", detached: !isWindows, env });
  let isStopped = false;
  const timer = setTimeout(() => {
    isStopped = true;
    if (isWindows) child.kill();
    else if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  }, CANARY_MS_MAX);
  const printed = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text) => (printed.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (printed.stderr += text));
  // A hook that does not read its input is judged by its exit code.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const done = (code: number | null) => {
    clearTimeout(timer);
    resolve({ code: isStopped ? null : code, ...printed });
  };
  child.once("error", () => done(127));
  child.once("close", done);
  return promise;
}
