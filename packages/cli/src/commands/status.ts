import { AGENTS, type Agent, ownHandlers, readProfile, SettingsFile } from "@countersign/adapters";
import { placeOf } from "../adapter-options.ts";
import { renderColumns } from "../columns.ts";
import type { Command } from "../command.ts";
import type { CommandLine } from "../command-line.ts";
import { EXIT } from "../exit.ts";
import { visibleText } from "../visible-text.ts";

interface Row {
  readonly agent: string;
  readonly state: "installed" | "not installed" | "unreadable";
  readonly settings: string;
  /** Undefined when there is no profile, or none that can be read. */
  readonly url: string | undefined;
}

export const status: Command = {
  usage: "status",
  help: "Which coding agents ask, and whom. Whether they do so: countersign doctor.",
  settings: [],
  options: {},

  async run(line, terminal) {
    line.take();
    const rows = AGENTS.map((agent) => look(agent, line));
    if (line.json) terminal.out(JSON.stringify(rows));
    else {
      const table = rows.map(({ agent, state, url, settings }) => {
        return [agent, state, url ?? "-", settings].map(visibleText);
      });
      terminal.out(renderColumns([["AGENT", "HOOK", "PROVIDER", "SETTINGS"], ...table]));
    }
    return EXIT.done;
  },
};

function look(agent: Agent, line: CommandLine): Row {
  const { settings, profile: path } = placeOf(agent, line);
  let file = settings;
  try {
    const profile = readProfile(path);
    file = profile?.installed?.settings ?? settings;
    const count = ownHandlers(new SettingsFile(file).text || "{}", agent.name).length;
    const state = count > 0 ? "installed" : "not installed";
    return { agent: agent.name, state, settings: file, url: profile?.url };
  } catch {
    return { agent: agent.name, state: "unreadable", settings: file, url: undefined };
  }
}
