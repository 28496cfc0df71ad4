/**
 * Options and errors that the commands for agents' settings share.
 */

import { homedir } from "node:os";
import { resolve } from "node:path";
import { AGENTS, type Agent, findAgent } from "@countersign/agents";
import {
  CommandError,
  type CommandLine,
  type CommandOptions,
  EXIT,
  type Terminal,
  usageError,
} from "@countersign/command-line";
import type { InstallPlace } from "../install/install.ts";
import { profileFile } from "../profile/folders.ts";

export const AGENT_NAMES = AGENTS.map(({ name }) => name).join(", ");

export const PROFILE: CommandOptions = {
  profile: { type: "text", value: "FILE", help: "Profile with the credential. [of your user]" },
};

export const PLACE: CommandOptions = {
  settings: {
    type: "text",
    value: "FILE",
    help: "Settings file of the agent. [your user-level file]",
  },
  ...PROFILE,
};

/** @throws CommandError */
export function agentOf(name: string | undefined): Agent {
  const agent = findAgent(name);
  if (agent === undefined) throw usageError(`the agent must be one of ${AGENT_NAMES}`);
  return agent;
}

export function placeOf(agent: Agent, line: CommandLine, program: string): InstallPlace {
  const settings = line.text("settings") ?? agent.settings.file(process.env);
  const profile = line.text("profile") ?? profileFile(agent.name, process.env);
  return {
    agent,
    settings: resolve(settings),
    profile: resolve(profile),
    node: process.execPath,
    script: resolve(process.argv[1] ?? ""),
    home: homedir(),
    systemRoot: process.platform === "win32" ? systemRoot() : undefined,
    program,
  };
}

function systemRoot(): string {
  return process.env.SystemRoot ?? "C:\\Windows";
}

/** Reads a secret from stdin: arguments are visible to other users and stay in shell histories. */
export async function readSecret(terminal: Terminal, what: string): Promise<string> {
  if (process.stdin.isTTY === true) return (await terminal.askSecret(`${what}: `)).trim();
  let text = "";
  for await (const chunk of process.stdin.setEncoding("utf8")) text += chunk;
  const secret = text.trim();
  if (secret === "" || secret.includes("\n"))
    throw usageError(`stdin must contain ${what} and nothing else; pipe it, or use a terminal`);
  return secret;
}

/** Runs a change of files. Its errors stop the command with exit code 1. */
export function changeFiles<T>(change: () => T): T {
  try {
    return change();
  } catch (error) {
    throw new CommandError(EXIT.refused, "settings", Object(error).message ?? String(error));
  }
}
