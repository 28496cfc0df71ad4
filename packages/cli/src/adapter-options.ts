/**
 * What the commands for agents' settings have in common.
 */

import { homedir } from "node:os";
import { resolve } from "node:path";
import {
  AGENTS,
  type Agent,
  findAgent,
  type InstallPlace,
  profileFile,
} from "@countersign/adapters";
import type { CommandLine, OwnOptions } from "./command-line.ts";
import { CommandError, EXIT, usageError } from "./exit.ts";
import type { Terminal } from "./terminal.ts";

const NAMES = AGENTS.map(({ name }) => name).join(" or ");

export const PROFILE: OwnOptions = {
  profile: { type: "text", value: "FILE", help: "Of this adapter, with its credential." },
};

export const PLACE: OwnOptions = {
  settings: { type: "text", value: "FILE", help: "Of the agent. [that of all your projects]" },
  ...PROFILE,
};

/** @throws CommandError */
export function agentOf(name: string | undefined): Agent {
  const agent = findAgent(name);
  if (agent === undefined) throw usageError(`the agent is ${NAMES}`);
  return agent;
}

export function placeOf(agent: Agent, line: CommandLine): InstallPlace {
  const settings = line.text("settings") ?? agent.settingsFile(process.env);
  const profile = line.text("profile") ?? profileFile(agent.name, process.env);
  return {
    agent,
    settings: resolve(settings),
    profile: resolve(profile),
    node: process.execPath,
    script: resolve(process.argv[1] ?? ""),
    home: homedir(),
  };
}

/** One line of stdin: arguments and the history of a shell must not hold a secret. */
export async function readSecret(terminal: Terminal, what: string): Promise<string> {
  if (process.stdin.isTTY === true) return (await terminal.askSecret(`${what}: `)).trim();
  let text = "";
  for await (const chunk of process.stdin.setEncoding("utf8")) text += chunk;
  const secret = text.trim();
  if (secret === "" || secret.includes("\n")) throw usageError(`stdin must be ${what}, alone`);
  return secret;
}

/** Runs what changes files; what goes wrong there is said in one line. */
export function refusing<T>(change: () => T): T {
  try {
    return change();
  } catch (error) {
    throw new CommandError(EXIT.refused, "settings", Object(error).message ?? String(error));
  }
}
