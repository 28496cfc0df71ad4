/** The command that tests whether the hook blocks a call. */

import { AGENTS, type Agent } from "@countersign/agents";
import {
  type Command,
  type CommandLine,
  EXIT,
  typedCommand,
  usageError,
} from "@countersign/command-line";
import { visibleText } from "@countersign/protocol";
import { examine } from "../doctor/doctor.ts";
import type { Finding } from "../doctor/finding.ts";
import type { InstallPlace } from "../install/install.ts";
import { readProfile } from "../profile/profile.ts";
import { agentOf, PLACE, placeOf } from "./options.ts";

const WORDS: Readonly<Record<Finding["level"], string>> = {
  ok: "ok  ",
  warn: "NOTE",
  fail: "FAIL",
};

export const doctor: Command = {
  usage: "doctor [AGENT]",
  help: "Test that the hook blocks a harmless call.",
  example: "doctor claude-code",
  options: {
    "no-agent": { type: "flag", help: "Skip the test that starts the agent." },
    ...PLACE,
  },

  async run(line, terminal, program) {
    const withAgent = !line.flag("no-agent");
    const agents = agentsOf(line, program);
    let failed = 0;
    const results: { readonly agent: string; readonly findings: readonly Finding[] }[] = [];
    for (const agent of agents) {
      const own = placeOf(agent, line, program);
      const place = { ...own, ...installedAt(own, line) };
      const order = { place, folder: process.cwd(), environment: process.env, withAgent };
      const findings = await examine(order);
      failed += findings.filter(({ level }) => level === "fail").length;
      results.push({ agent: agent.name, findings });
      if (line.json) continue;
      terminal.out(`${agent.title}:`);
      for (const { level, text, advice } of findings) {
        terminal.out(`  ${WORDS[level]}  ${visibleText(text)}`);
        if (advice !== undefined) terminal.out(`        ${visibleText(advice)}`);
      }
    }
    if (line.json) terminal.out(JSON.stringify(results));
    return failed === 0 ? EXIT.done : EXIT.refused;
  },
};

/** The agent of the command line. Default: all agents with a profile. */
function agentsOf(line: CommandLine, program: string): readonly Agent[] {
  if (line.positionals.length > 0) {
    const [name] = line.take("the agent");
    return [agentOf(name)];
  }
  const agents = AGENTS.filter((agent) => {
    try {
      return readProfile(placeOf(agent, line, program).profile) !== undefined;
    } catch {
      return true;
    }
  });
  if (agents.length === 0) {
    const install = `${typedCommand(program, process.env)} install`;
    const advice = `run: ${install} claude-code --url URL, or: ${install} codex --url URL`;
    throw usageError(`no hook is installed; ${advice}`);
  }
  return agents;
}

/** The settings file that install changed, unless the command line names one. */
function installedAt({ profile }: InstallPlace, line: CommandLine): { readonly settings?: string } {
  if (line.text("settings") !== undefined) return {};
  try {
    const settings = readProfile(profile)?.installed?.settings;
    return settings === undefined ? {} : { settings };
  } catch {
    return {};
  }
}
