/**
 * Stories of the Go command `aap`, which is in the settings of a coding agent. The hook
 * is run as the agent runs it: the line in its settings, with the call on stdin. The first story
 * installs it for the others. Written by the source of the command.
 */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Stage } from "./stage.ts";
import type { Story } from "./story.ts";

export interface GoScene {
  readonly stage: Stage;
  readonly program: string;
  /** An agent's home, with nothing in it. */
  readonly home: string;
  /** Ends the processes, and with them all that is waited for. */
  readonly signal: AbortSignal;
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
}

interface Settings {
  readonly permissions?: unknown;
  readonly hooks?: {
    readonly PreToolUse?: readonly {
      readonly hooks: readonly { readonly command: string }[];
    }[];
  };
}

/** Settings of the user, which an installation must not change. */
const OWN_SETTINGS = { permissions: { allow: ["Bash(git status)"] } };

export const GO_STORIES: readonly Story<GoScene>[] = [
  {
    title: "install: adds the hook to the settings of Claude Code and keeps the existing settings",
    async play(scene) {
      mkdirSync(join(scene.home, ".claude"), { recursive: true });
      writeFileSync(settingsFile(scene), JSON.stringify(OWN_SETTINGS));
      const token = await scene.stage.newInstance();
      const where = ["--instance-token", token, "--base-url", scene.stage.url];
      assert.equal((await run(scene, "install", "claude-code", ...where)).code, 0);
      assert.deepEqual(readSettings(scene).permissions, OWN_SETTINGS.permissions);
      assert.notEqual(hookOf(scene), undefined);
      assert.equal((await run(scene, "status", "claude-code")).code, 0);
    },
  },
  {
    title: "hook: policy approves at once, and the agent goes on",
    async play(scene) {
      const { code, stdout } = await ended(startHook(scene, "Read", { file_path: "README.md" }));
      assert.equal(code, 0);
      assert.doesNotMatch(stdout, /deny/);
    },
  },
  {
    title: "hook: policy denies at once, and the note reaches the model",
    async play(scene) {
      const { stdout } = await ended(startHook(scene, "db.drop", { table: "orders" }));
      assert.match(refusalIn(stdout), /Agents must not drop tables\./);
    },
  },
  {
    title: "hook: a reviewer approves the call that waits",
    async play(scene) {
      const hook = ended(startHook(scene, "GoApprove", { amount: 0.1 }));
      const { id } = await Promise.race([scene.stage.pending("GoApprove"), early(hook)]);
      await scene.stage.decide(id, "approve");
      const { code, stdout } = await hook;
      assert.equal(code, 0);
      assert.doesNotMatch(stdout, /deny/);
    },
  },
  {
    title: "hook: a reviewer denies the call that waits, and the note reaches the model",
    async play(scene) {
      const hook = ended(startHook(scene, "GoDeny", { deep: [[{}]] }));
      const { id } = await Promise.race([scene.stage.pending("GoDeny"), early(hook)]);
      await scene.stage.decide(id, "deny", "Not on a Friday.");
      assert.match(refusalIn((await hook).stdout), /Not on a Friday\./);
    },
  },
  {
    title: "hook: one that the agent ends takes its request back",
    async play(scene) {
      const child = startHook(scene, "GoCancel", {});
      const hook = ended(child);
      const { id } = await Promise.race([scene.stage.pending("GoCancel"), early(hook)]);
      killGroup(child, "SIGTERM");
      await hook;
      const { status, decided_by } = await scene.stage.ended(id);
      assert.equal(status, "cancelled");
      assert.match(decided_by ?? "", /^instance:/);
    },
  },
  {
    title: "hook: the call of an MCP server is sent with `server`, and fails closed",
    async play(scene) {
      const hook = ended(startHook(scene, "mcp__github__read", {}));
      const admitted = scene.stage.pending("read").then(({ id }) => {
        throw new Error(`request ${id} was made`);
      });
      const { stdout } = await Promise.race([hook, admitted]);
      assert.match(refusalIn(stdout), /could not obtain a valid AAP decision/);
    },
  },
  {
    title: "uninstall: the settings are as they were",
    async play(scene) {
      assert.equal((await run(scene, "uninstall", "claude-code")).code, 0);
      assert.deepEqual(readSettings(scene), OWN_SETTINGS);
    },
  },
];

/** With a server that admits `server`. The first story installs the hook for the other. */
export const GO_EXTENDED: readonly Story<GoScene>[] = [
  {
    title: "install: adds the hook to the settings, for a server that accepts `server`",
    async play(scene) {
      mkdirSync(join(scene.home, ".claude"), { recursive: true });
      const token = await scene.stage.newInstance();
      const where = ["--instance-token", token, "--base-url", scene.stage.url];
      assert.equal((await run(scene, "install", "claude-code", ...where)).code, 0);
    },
  },
  {
    title: "hook: the call of an MCP server names it, a reviewer approves, and the agent goes on",
    async play(scene) {
      const hook = ended(startHook(scene, "mcp__github__write", {}));
      const { id, server } = await Promise.race([scene.stage.pending("write"), early(hook)]);
      assert.equal(server, "github");
      await scene.stage.decide(id, "approve");
      const { code, stdout } = await hook;
      assert.equal(code, 0);
      assert.doesNotMatch(stdout, /deny/);
    },
  },
];

function settingsFile({ home }: GoScene): string {
  return join(home, ".claude", "settings.json");
}

function readSettings(scene: GoScene): Settings {
  return JSON.parse(readFileSync(settingsFile(scene), "utf8")) as Settings;
}

function hookOf(scene: GoScene): string | undefined {
  return readSettings(scene).hooks?.PreToolUse?.[0]?.hooks[0]?.command;
}

function environmentOf({ home }: GoScene): NodeJS.ProcessEnv {
  return { ...process.env, HOME: home, AAP_CONFIG_DIR: join(home, "aap") };
}

function run(scene: GoScene, ...args: readonly string[]): Promise<Ended> {
  const { program, signal } = scene;
  const options = { env: environmentOf(scene), signal, killSignal: "SIGKILL" } as const;
  return ended(spawn(program, args, { ...options, stdio: ["ignore", "pipe", "inherit"] }));
}

function startHook(scene: GoScene, tool_name: string, tool_input: object): ChildProcess {
  const command = hookOf(scene);
  assert.ok(command, "the hook is not installed");
  const env = environmentOf(scene);
  // A group of its own: what ends a hook has to reach the command behind the shell.
  const options = { env, detached: true, stdio: ["pipe", "pipe", "inherit"] } as const;
  const child = spawn("sh", ["-c", command], { ...options, stdio: [...options.stdio] });
  const kill = () => killGroup(child, "SIGKILL");
  scene.signal.addEventListener("abort", kill);
  child.on("close", () => scene.signal.removeEventListener("abort", kill));
  const call = { tool_name, tool_input, tool_use_id: randomUUID(), session_id: randomUUID() };
  const input = { hook_event_name: "PreToolUse", cwd: scene.home, transcript_path: "", ...call };
  child.stdin?.end(JSON.stringify(input));
  return child;
}

function killGroup({ pid }: ChildProcess, name: "SIGTERM" | "SIGKILL"): void {
  try {
    if (pid !== undefined) process.kill(-pid, name);
  } catch {
    // It has ended by itself.
  }
}

function ended(child: ChildProcess): Promise<Ended> {
  const { promise, resolve, reject } = Promise.withResolvers<Ended>();
  let stdout = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.on("error", reject);
  child.on("close", (code) => resolve({ code, stdout }));
  return promise;
}

function refusalIn(stdout: string): string {
  const { hookSpecificOutput } = JSON.parse(stdout) as {
    readonly hookSpecificOutput: {
      readonly permissionDecision: string;
      readonly permissionDecisionReason: string;
    };
  };
  assert.equal(hookSpecificOutput.permissionDecision, "deny");
  return hookSpecificOutput.permissionDecisionReason;
}

/** A hook that answers before a decision has failed: waiting on would only hide it. */
async function early(hook: Promise<Ended>): Promise<never> {
  throw new Error(`the hook did not wait: ${JSON.stringify(await hook)}`);
}
