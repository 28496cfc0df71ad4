/**
 * A real provider, and hooks in other processes that read the input of their agent from a file.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { Child, type Outcome, type Owner, temporaryFolder } from "@countersign/testing/child";
import { ownEnvironment } from "@countersign/testing/countersign";

export const BIN = join(import.meta.dirname, "../../bin/countersign-agent-hooks.js");

export interface HookScene extends AgentScene {
  /** An empty home folder for profiles and records of used approvals. */
  readonly home: string;
  /** Variables that the hook uses without a profile. */
  readonly environment: Readonly<Record<string, string>>;
}

export async function startHookScene(owner: Owner): Promise<HookScene> {
  const scene = await startAgentScene(owner);
  const home = temporaryFolder(owner);
  const environment = {
    ...scene.environment,
    // A hook that remains after a failed test ends soon.
    COUNTERSIGN_HOOK_WAIT: "60s",
  };
  return { ...scene, home, environment };
}

/** The environment of a user with an empty home and no COUNTERSIGN_ variables. */
export function homeEnvironment(home: string): NodeJS.ProcessEnv {
  const entries = Object.entries(ownEnvironment());
  const kept = entries.filter(([name]) => !/^(XDG_|CLAUDE|CODEX|NODE_OPTIONS)/.test(name));
  return { ...Object.fromEntries(kept), HOME: home, SHELL: "/bin/sh" };
}

/** The recorded input in this file. */
export function recorded(name: string): string {
  return readFileSync(join(import.meta.dirname, "../inputs", `${name}.json`), "utf8");
}

/** The input of Claude Code for one call, with new ids by default. */
export function callInput(fields: object = {}): string {
  return JSON.stringify({
    session_id: randomUUID(),
    transcript_path: "/srv/user/t.jsonl",
    cwd: "/srv/user",
    permission_mode: "default",
    hook_event_name: "PreToolUse",
    tool_name: "Bash",
    tool_input: { command: "make deploy" },
    tool_use_id: `toolu_${randomUUID()}`,
    ...fields,
  });
}

export interface HookRun {
  readonly input: string | Uint8Array;
  readonly agent?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the hook with input from a file. */
export function startHook(owner: Owner, home: string, run: HookRun): Child {
  const { agent = "claude-code", args = [] } = run;
  const words = [process.execPath, BIN, "hook", agent, ...args];
  return feed(owner, home, words, run);
}

/** Starts any command as a hook. */
export function feed(
  owner: Owner,
  home: string,
  words: readonly string[],
  { input, env = {} }: Pick<HookRun, "input" | "env">,
): Child {
  const file = join(home, `input-${randomUUID()}`);
  writeFileSync(file, input);
  // `exec`: the process is the hook, and signals reach it.
  const shell = ["/bin/sh", "-c", 'f=$1; shift; exec "$@" < "$f"', "sh", file, ...words];
  return new Child(owner, shell, { env: { ...homeEnvironment(home), ...env } });
}

export function runHook(owner: Owner, home: string, run: HookRun): Promise<Outcome> {
  return startHook(owner, home, run).ends();
}

/**
 * Asserts that an agent does not run the call, and that the model reads a matching reason: Claude
 * Code from the JSON denial on stdout, Codex from stderr.
 */
export function assertBlocked(outcome: Outcome, reason: RegExp, agent = "claude-code"): void {
  const { code, stdout, stderr } = outcome;
  if (agent === "codex") {
    assert.deepEqual([code, stdout], [2, ""], stderr);
    assert.match(stderr, /^Countersign: .+\n$/ms);
    assert.match(stderr, reason);
    return;
  }
  assert.equal(code, 0, stderr);
  const { permissionDecision, permissionDecisionReason = "" } = decisionIn(outcome);
  assert.equal(permissionDecision, "deny");
  assert.match(permissionDecisionReason, /^Countersign: /);
  assert.match(permissionDecisionReason, reason);
}

/** The decision that Claude Code reads from stdout. */
export function decisionIn({ stdout }: Outcome): { readonly [name: string]: string } {
  return JSON.parse(stdout).hookSpecificOutput;
}

/** Processes of Node below one process. */
export function hooksBelow(pid: number): number[] {
  const table = execFileSync("ps", ["-eo", "pid=,ppid=,comm="], { encoding: "utf8" });
  const rows = table
    .trim()
    .split("\n")
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line)?.slice(1) ?? []);
  const below = (parent: number): number[] => {
    const children = rows.filter(([, ppid]) => Number(ppid) === parent);
    return children.flatMap(([child, , name]) => {
      const deeper = below(Number(child));
      return /node|MainThread/.test(name ?? "") ? [Number(child), ...deeper] : deeper;
    });
  };
  return below(pid);
}
