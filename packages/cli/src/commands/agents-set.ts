/** The command that sets the groups, the owner and the webhook receiver of an agent. */

import { EXIT, usageError } from "@countersign/command-line";
import { exactText, type Instance } from "@countersign/review-api";
import type { Instance as ProvisionedInstance } from "@countersign/sdk";
import { connectProvisioner, NO_DELIVERY, readDelivery } from "../agent-delivery.ts";
import type { Command } from "../command.ts";
import { connectApi } from "../connect-api.ts";
import { groupsOf, namesCell } from "../name-list.ts";
import { visibleText } from "../visible-text.ts";

export const agentsSet: Command = {
  usage: "agents set ID",
  help: "Set the groups, the owner or the receiver of an agent.",
  example: "agents set 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70 --groups support-bots",
  settings: ["client"],
  options: {
    groups: { type: "text", value: "A,B", help: "New groups; an empty list removes all." },
    owner: {
      type: "text",
      value: "NAME",
      help: "Reviewer who owns the agent; empty removes the owner.",
    },
    delivery: {
      type: "text",
      value: "FILE",
      help: `JSON file with the webhook receiver; ${NO_DELIVERY} removes it.`,
    },
  },

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the agent");
    const groups = groupsOf(line);
    const owner = line.text("owner");
    const file = line.text("delivery");
    if (file !== undefined) {
      if (groups !== undefined || owner !== undefined) {
        throw usageError("--delivery cannot be combined with --groups or --owner");
      }
      const delivery = file === NO_DELIVERY ? null : readDelivery(file);
      const changed = await connectProvisioner(line).update(id, { delivery });
      terminal.out(line.json ? toJson(changed) : describeReceiver(changed));
      return EXIT.done;
    }
    if (groups === undefined && owner === undefined) {
      throw usageError("give --groups A,B, --owner NAME or --delivery FILE");
    }
    const body = { groups, owner: owner === "" ? null : owner };
    const instance = await connectApi(line).call("PATCH /instances/{id}", { path: { id }, body });
    terminal.out(line.json ? exactText(instance) : describeOutcome(instance));
    return EXIT.done;
  },
};

function toJson({ id, name, delivery }: ProvisionedInstance): string {
  const { url, registrationId } = delivery ?? {};
  const receiver = delivery === undefined ? null : { url, registration_id: registrationId };
  return JSON.stringify({ id, name, delivery: receiver });
}

function describeReceiver({ id, delivery }: ProvisionedInstance): string {
  if (delivery === undefined) return `${id} has no receiver.`;
  return `${id} has the receiver ${visibleText(delivery.url)}.`;
}

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
