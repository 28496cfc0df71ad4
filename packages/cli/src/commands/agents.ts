/** The commands that create, list and delete agents. */

import { CommandError, EXIT, renderColumns, usageError } from "@countersign/command-line";
import { readDelivery } from "../agent-delivery.ts";
import {
  type AgentDirectory,
  findAgentId,
  type ListedAgent,
  PROJECT_DEFAULT,
  withDirectory,
} from "../agent-directory.ts";
import type { Command } from "../command.ts";
import { exportLines, snippets } from "../connect-agent.ts";
import { groupsOf, namesCell } from "../name-list.ts";
import { dataOption, ownCommand } from "../own-command.ts";
import { printRows, rowLimit } from "../row-list.ts";
import type { SettingsLine } from "../settings-line.ts";
import { visibleText } from "../visible-text.ts";

const PROJECT = {
  project: {
    type: "text",
    value: "PROJECT",
    help: `Project in the local database. [${PROJECT_DEFAULT}]`,
  },
} as const;

/** Characters of a name that the server accepts. */
const NAME_CHARS_MAX = 128;

const ROW_LIMIT = rowLimit(200);

export const agentsCreate: Command = {
  usage: "agents create NAME",
  help: "Create an agent and print its URL and key once.",
  example: "agents create refund-bot",
  settings: ["server", "client"],
  options: {
    groups: { type: "text", value: "A,B", help: "Groups of the agent, as policies name them." },
    owner: { type: "text", value: "REVIEWER", help: "Reviewer who owns the agent. [none]" },
    delivery: { type: "text", value: "FILE", help: "JSON file with the webhook receiver. [none]" },
    ...PROJECT,
  },

  async run(line, terminal) {
    const [name = ""] = line.take("the name of the agent");
    if (name.trim() === "" || name.length > NAME_CHARS_MAX) {
      throw usageError(`the name of an agent must have 1 to ${NAME_CHARS_MAX} characters`);
    }
    const file = line.text("delivery");
    const delivery = file === undefined ? undefined : readDelivery(file);
    const groups = groupsOf(line) ?? [];
    const order = { name, groups, owner: line.text("owner") || null, delivery };
    const agent = await withDirectory(line, async (directory) => {
      await assertNewName(directory, line, name);
      return directory.create(order);
    });
    if (line.json) {
      const { id, url, key } = agent;
      terminal.out(JSON.stringify({ id, name, url, key }));
      return EXIT.done;
    }
    terminal.note(`Created the agent ${visibleText(name)} (id ${agent.id}).`);
    terminal.note("The key is displayed once. Set both variables where the agent runs:\n");
    terminal.out(exportLines(agent));
    if (!agent.isServed) {
      const command = `${ownCommand(process.env)}${dataOption(line.config().data)}`;
      terminal.note(`\nNo server is running there yet. Start it with: ${command}`);
    }
    if (terminal.hasScreen) terminal.note(`\n${snippets(agent.url)}`);
    return EXIT.done;
  },
};

/** A provisioner token cannot list names. Then the server accepts a second agent of a name. */
async function assertNewName(
  directory: AgentDirectory,
  line: SettingsLine,
  name: string,
): Promise<void> {
  const listing = await directory.list().catch(() => undefined);
  if (listing === undefined || listing.agents.every((agent) => agent.name !== name)) return;
  const shown = JSON.stringify(name);
  const project = line.text("project");
  const rest = project === undefined ? "" : ` --project ${project}`;
  const advice = `choose another name, or run: countersign agents delete ${shown}${rest}`;
  throw new CommandError(EXIT.refused, "name_taken", `an agent is named ${shown}; ${advice}`);
}

export const agentsList: Command = {
  usage: "agents list",
  help: "List agents, oldest first.",
  example: "agents list",
  settings: ["server", "client"],
  options: {
    limit: ROW_LIMIT.option,
    ...PROJECT,
  },

  async run(line, terminal) {
    line.take();
    const limit = ROW_LIMIT.read(line);
    const { agents, hasMore } = await withDirectory(line, (directory) => directory.list(limit));
    printRows(line, terminal, {
      json: agents.map(({ json }) => json),
      empty: "There are no agents. Create one with: countersign agents create NAME",
      renderTable: () => renderAgents(agents),
      limit,
      hasMore,
    });
    return EXIT.done;
  },
};

function renderAgents(agents: readonly ListedAgent[]): string {
  const rows = agents.map(({ id, name, groups, owner }) => {
    return [id, visibleText(name), namesCell(groups), visibleText(owner ?? "-")];
  });
  return renderColumns([["ID", "NAME", "GROUPS", "OWNER"], ...rows]);
}

export const agentsDelete: Command = {
  usage: "agents delete NAME|ID",
  help: "Delete an agent, its key and its pending requests.",
  example: "agents delete refund-bot",
  settings: ["server", "client"],
  options: PROJECT,

  async run(line, terminal) {
    const [text = ""] = line.take("the name or the id of the agent");
    const id = await withDirectory(line, async (directory) => {
      const found = await findAgentId(directory, text);
      await directory.delete(found);
      return found;
    });
    terminal.out(line.json ? JSON.stringify({ deleted: id }) : `Deleted the agent ${id}.`);
    return EXIT.done;
  },
};
