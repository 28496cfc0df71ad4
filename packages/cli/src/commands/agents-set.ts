/** The command that sets the groups and the owner of an agent. */

import { EXIT, usageError } from "@countersign/command-line";
import { exactText, type Instance } from "@countersign/review-api";
import type { Command } from "../command.ts";
import { connectApi } from "../connect-api.ts";
import { groupsOf, namesCell } from "../name-list.ts";
import { visibleText } from "../visible-text.ts";

export const agentsSet: Command = {
  usage: "agents set ID",
  help: "Set the groups or the owner of an agent.",
  example: "agents set 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70 --groups support-bots",
  settings: ["client"],
  options: {
    groups: { type: "text", value: "A,B", help: "New groups; an empty list removes all." },
    owner: {
      type: "text",
      value: "NAME",
      help: "Reviewer who owns the agent; empty removes the owner.",
    },
  },

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the agent");
    const groups = groupsOf(line);
    const owner = line.text("owner");
    if (groups === undefined && owner === undefined) {
      throw usageError("give --groups A,B or --owner NAME");
    }
    const body = { groups, owner: owner === "" ? null : owner };
    const instance = await connectApi(line).call("PATCH /instances/{id}", { path: { id }, body });
    terminal.out(line.json ? exactText(instance) : describeOutcome(instance));
    return EXIT.done;
  },
};

function describeOutcome(instance: Instance): string {
  const [id, groups, owner] = cells(instance);
  const now = `${id} has groups ${groups}, owner ${owner}.`;
  if (instance.proposed_change === undefined) return now;
  const proposed = cells({ ...instance, ...instance.proposed_change });
  return [
    now,
    `Proposed: groups ${proposed[1]}, owner ${proposed[2]}. Policy takes two people, so the change`,
    "takes effect when another person runs this command with the same values.",
  ].join("\n");
}

function cells({ id, groups, owner }: Instance): [id: string, groups: string, owner: string] {
  return [id, namesCell(groups), visibleText(owner ?? "-")];
}
