/** The command that shows which coding agents have the hook. */

import { AGENTS, type Agent } from "@countersign/agents";
import { type Command, type CommandLine, EXIT, renderColumns } from "@countersign/command-line";
import { visibleText } from "@countersign/protocol";
import { findHooks, ownFileFault } from "../install/agent-settings.ts";
import { SettingsFile } from "../install/settings-file.ts";
import { UnusableSettings } from "../install/settings-handler.ts";
import { readProfile } from "../profile/profile.ts";
import { placeOf } from "./options.ts";

interface Row {
  readonly agent: string;
  readonly state: "installed" | "not installed" | "unreadable";
  readonly settings: string;
  /** Undefined without a readable profile. */
  readonly url: string | undefined;
  /** Why the state is "unreadable". */
  readonly fault?: string;
}

export const status: Command = {
  usage: "status",
  help: "Show which coding agents have the hook; doctor tests it.",
  example: "status",
  options: {},

  async run(line, terminal, program) {
    line.take();
    const rows = AGENTS.map((agent) => statusOf(agent, line, program));
    if (line.json) terminal.out(JSON.stringify(rows));
    else {
      const table = rows.map(({ agent, state, url, settings }) => {
        return [agent, state, url ?? "-", settings].map(visibleText);
      });
      terminal.out(renderColumns([["AGENT", "HOOK", "PROVIDER", "SETTINGS"], ...table]));
    }
    const faults = rows.flatMap(({ agent, fault }) =>
      fault === undefined ? [] : [{ agent, fault }],
    );
    for (const { agent, fault } of faults) terminal.note(visibleText(`${agent}: ${fault}`));
    return faults.length === 0 ? EXIT.done : EXIT.refused;
  },
};

function statusOf(agent: Agent, line: CommandLine, program: string): Row {
  const { settings, profile: path } = placeOf(agent, line, program);
  let file = settings;
  try {
    const profile = readProfile(path);
    file = profile?.installed?.settings ?? settings;
    const text = new SettingsFile(file).text ?? "";
    const fault = ownFileFault(agent, text);
    if (fault !== undefined) throw new UnusableSettings(fault);
    const state = findHooks(agent, text).own.length > 0 ? "installed" : "not installed";
    return { agent: agent.name, state, settings: file, url: profile?.url };
  } catch (error) {
    const fault = String(Object(error).message);
    const row = { agent: agent.name, state: "unreadable", settings: file, url: undefined } as const;
    return { ...row, fault };
  }
}
