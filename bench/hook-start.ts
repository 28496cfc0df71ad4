/**
 * The cost of the command hook, which is one process for each tool call: the time from the start of
 * this process to its exit, beside `node -e 0` in turns.
 */

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { findAgent } from "@countersign/agents";
import { hookCommand } from "../packages/agent-hooks/src/install/hook-command.ts";
import { writeProfile } from "../packages/agent-hooks/src/profile/profile.ts";
import { cpuSeconds, spawnTracked } from "./children.ts";
import { ARGUMENTS, bareCaller } from "./gated-call.ts";
import type { Options } from "./options.ts";
import { policyOfManyRules } from "./policy.ts";
import { median } from "./statistics.ts";
import { startSubject } from "./subject.ts";
import { reportProgress } from "./table.ts";
import { removeFolder, temporaryFolder } from "./temporary-folder.ts";

export interface HookStart {
  readonly name: string;
  /** Median, from the start of the process to its exit. */
  readonly wallMs: number;
  /** Mean processor time of the process and its shell. */
  readonly cpuMs: number;
}

export interface HookStarts {
  /** The first one is `node -e 0`. */
  readonly starts: readonly HookStart[];
  readonly count: number;
  /** One creation over an open connection, median. An approved call contains one. */
  readonly createMs: number;
}

/** A command, and what must be in its output. */
interface Scenario {
  readonly name: string;
  readonly words: readonly [command: string, ...args: string[]];
  readonly input: () => string;
  readonly output: string;
}

const STARTS_PER_ROUND = 8;
const WARM_UP_STARTS = 3;
const CREATES = 50;

const BIN = join(import.meta.dirname, "../packages/agent-hooks/bin/countersign-agent-hooks.js");

export async function measureHookStarts({ rounds }: Options): Promise<HookStarts> {
  const subject = await startSubject({ connections: 1, policy: policyOfManyRules() });
  const home = temporaryFolder();
  const url = `http://localhost:${subject.port}`;
  try {
    const profile = join(home, "profile.json");
    writeProfile(profile, {
      url,
      token: subject.token,
      waitMs: 60_000,
      leave: ["Read"],
      keepPrompts: false,
      promptsOnly: false,
      localPrompt: false,
      environment: false,
      uses: join(home, "uses"),
    });
    const scenarios = scenariosOf(home, profile);
    const starts = await alternate(scenarios, home, rounds * STARTS_PER_ROUND);
    const create = bareCaller(url, subject.token);
    const createMs: number[] = [];
    for (let i = 0; i < CREATES; i++) createMs.push(await create());
    return { starts, count: rounds * STARTS_PER_ROUND, createMs: median(createMs) };
  } finally {
    await subject.stop();
    removeFolder(home);
  }
}

function scenariosOf(home: string, profile: string): Scenario[] {
  const node = process.execPath;
  const agent = "claude-code";
  const hook = [BIN, "hook", agent, "--profile", profile];
  const installed = hookCommand({
    node,
    script: BIN,
    agent,
    denied: findAgent(agent)?.events[0].output.denied,
    isPrompt: false,
    profile,
    home,
    caFile: undefined,
    environment: false,
    program: "countersign-agent-hooks",
  });
  const approved = () => inputOf("payments.refund");
  return [
    { name: "node -e 0", words: [node, "-e", "0"], input: () => "", output: "" },
    { name: "garbled input", words: [node, ...hook], input: () => "{", output: "is not valid" },
    { name: "a tool in leave", words: [node, ...hook], input: () => inputOf("Read"), output: "{}" },
    {
      name: "an approved call",
      words: [node, ...hook],
      input: approved,
      output: '"permissionDecision":"allow"',
    },
    {
      name: "a tool in leave, installed command",
      words: ["/bin/sh", "-c", installed],
      input: () => inputOf("Read"),
      output: "{}",
    },
    {
      name: "an approved call, installed command",
      words: ["/bin/sh", "-c", installed],
      input: approved,
      output: '"permissionDecision":"allow"',
    },
  ];
}

function inputOf(tool: string): string {
  return JSON.stringify({
    session_id: randomUUID(),
    hook_event_name: "PreToolUse",
    tool_name: tool,
    tool_input: ARGUMENTS,
    tool_use_id: randomUUID(),
  });
}

async function alternate(
  scenarios: readonly Scenario[],
  home: string,
  count: number,
): Promise<HookStart[]> {
  const runs = scenarios.map((scenario) => {
    return { scenario, wallMs: [] as number[], cpuSeconds: 0 };
  });
  reportProgress(`hook-start: ${count} starts of each`);
  for (let i = -WARM_UP_STARTS; i < count; i++) {
    for (const run of runs) {
      const cpuBefore = cpuOfEnded();
      const wallMs = await startOnce(run.scenario, home);
      if (i < 0) continue;
      run.wallMs.push(wallMs);
      run.cpuSeconds += cpuOfEnded() - cpuBefore;
    }
  }
  return runs.map(({ scenario: { name }, wallMs, cpuSeconds: total }) => {
    return { name, wallMs: median(wallMs), cpuMs: (total * 1_000) / count };
  });
}

/** Processor seconds of the children that ended, and of their children. */
function cpuOfEnded(): number {
  return cpuSeconds(process.pid, "with those that ended") - cpuSeconds(process.pid);
}

/** @throws Error if the hook does not give the expected answer */
async function startOnce({ name, words, input, output }: Scenario, home: string): Promise<number> {
  const [command, ...args] = words;
  const text = input();
  const startedAt = performance.now();
  const environment = { HOME: home, PATH: "/usr/bin:/bin" };
  const child = spawnTracked(args, ["pipe", "pipe", "inherit"], environment, command);
  let written = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    written += chunk.toString();
  });
  // `node -e 0` does not read its input.
  child.stdin?.on("error", () => {});
  child.stdin?.end(text);
  await new Promise((resolve) => child.once("close", resolve));
  const wallMs = performance.now() - startedAt;
  if (!written.includes(output)) throw new Error(`${name}: unexpected answer ${written}`);
  return wallMs;
}
