/** The commands that list instances and set their groups and owners. */

import { EXIT, renderColumns, usageError } from "@countersign/command-line";
import { exactText, type Instance } from "@countersign/review-api";
import type { Command } from "../command.ts";
import { connectApi } from "../connect-api.ts";
import { groupsOf } from "../name-list.ts";
import { collect } from "../reviewer-api.ts";
import { visibleText } from "../visible-text.ts";

const LIMIT_MAX = 1_000;

export const instancesList: Command = {
  usage: "instances list",
  help: "List instances, oldest first.",
  example: "instances list",
  settings: ["client"],
  options: {
    limit: {
      type: "text",
      value: "COUNT",
      help: `Maximum number of rows, up to ${LIMIT_MAX}. [200]`,
    },
  },

  async run(line, terminal) {
    line.take();
    const limit = Number(line.text("limit") ?? 200);
    if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
      throw usageError(`--limit must be a whole number from 1 to ${LIMIT_MAX}`);
    }
    const api = connectApi(line);
    const { items: instances, hasMore } = await collect(
      limit,
      (limit, after) => api.call("GET /instances", { query: { limit, after } }),
      (page) => page.instances,
    );
    if (line.json) {
      terminal.out(`[${instances.map(exactText).join(",")}]`);
    } else if (instances.length === 0) {
      terminal.out("There are no instances.");
    } else {
      terminal.out(table(instances));
      if (hasMore) terminal.note(`Only the first ${limit} are shown. Raise --limit to see more.`);
    }
    return EXIT.done;
  },
};

export const instancesSet: Command = {
  usage: "instances set ID",
  help: "Set the groups or the owner of an instance.",
  example: "instances set 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70 --groups support-bots",
  settings: ["client"],
  options: {
    groups: { type: "text", value: "A,B", help: "New groups; an empty list removes all." },
    owner: { type: "text", value: "NAME", help: "Reviewer who owns it; empty removes the owner." },
  },

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the instance");
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
  const [id, , groups, owner] = cells(instance);
  const now = `${id} has groups ${groups}, owner ${owner}.`;
  if (instance.proposed_change === undefined) return now;
  const proposed = cells({ ...instance, ...instance.proposed_change });
  return [
    now,
    `Proposed: groups ${proposed[2]}, owner ${proposed[3]}. Policy takes two people, so the change`,
    "takes effect when another person runs this command with the same values.",
  ].join("\n");
}

function table(instances: readonly Instance[]): string {
  return renderColumns([["INSTANCE", "NAME", "GROUPS", "OWNER"], ...instances.map(cells)]);
}

function cells({ id, name, groups, owner }: Instance): string[] {
  const list = groups.length === 0 ? "-" : visibleText(groups.join(","));
  return [id, visibleText(name), list, visibleText(owner ?? "-")];
}
