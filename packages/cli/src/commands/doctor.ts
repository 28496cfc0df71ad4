import { AGENTS, type Agent, examine, type Finding, readProfile } from "@countersign/adapters";
import { agentOf, PLACE, placeOf } from "../adapter-options.ts";
import type { Command } from "../command.ts";
import type { CommandLine } from "../command-line.ts";
import { EXIT, usageError } from "../exit.ts";
import { visibleText } from "../visible-text.ts";

const WORDS: Readonly<Record<Finding["level"], string>> = {
  ok: "ok  ",
  warn: "NOTE",
  fail: "FAIL",
};

export const doctor: Command = {
  usage: "doctor [AGENT]",
  help: "Prove that an agent's hook blocks, with a harmless call that is meant to be denied.",
  settings: [],
  options: {
    "no-agent": { type: "flag", help: "Do not start the agent itself for a trial." },
    ...PLACE,
  },

  async run(line, terminal) {
    const withAgent = !line.flag("no-agent");
    const agents = agentsOf(line);
    let failed = 0;
    const results: { readonly agent: string; readonly findings: readonly Finding[] }[] = [];
    for (const agent of agents) {
      const place = { ...placeOf(agent, line), ...installedAt(agent, line) };
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

/** The one that is named, or all that have a profile. */
function agentsOf(line: CommandLine): readonly Agent[] {
  if (line.positionals.length > 0) {
    const [name] = line.take("the agent");
    return [agentOf(name)];
  }
  const agents = AGENTS.filter((agent) => {
    try {
      return readProfile(placeOf(agent, line).profile) !== undefined;
    } catch {
      return true;
    }
  });
  if (agents.length === 0) throw usageError("no agent is installed; see countersign install");
  return agents;
}

/** Where install has put it, unless the command line says where to look. */
function installedAt(agent: Agent, line: CommandLine): { readonly settings?: string } {
  if (line.text("settings") !== undefined) return {};
  try {
    const settings = readProfile(placeOf(agent, line).profile)?.installed?.settings;
    return settings === undefined ? {} : { settings };
  } catch {
    return {};
  }
}
