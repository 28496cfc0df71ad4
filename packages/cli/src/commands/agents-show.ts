/** The command that shows one agent with its activity and the state of its receiver. */

import { EXIT } from "@countersign/command-line";
import { exactText, type Instance, type Receiver } from "@countersign/review-api";
import { findAgentId, withDirectory } from "../agent-directory.ts";
import type { Command } from "../command.ts";
import { connectApi } from "../connect-api.ts";
import { outcomeInWords } from "../render-deliveries.ts";
import { visibleText } from "../visible-text.ts";

export const agentsShow: Command = {
  usage: "agents show NAME|ID",
  help: "Show an agent: its last request and its webhook receiver.",
  example: "agents show refund-bot",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    const [text = ""] = line.take("the name or the id of the agent");
    const api = connectApi(line);
    const id = await withDirectory(line, (directory) => findAgentId(directory, text));
    const agent = await api.call("GET /instances/{id}", { path: { id } });
    terminal.out(line.json ? exactText(agent) : renderAgent(agent));
    return EXIT.done;
  },
};

export function renderAgent(agent: Instance): string {
  const { id, name, groups, owner, pending, receiver, workload } = agent;
  const rows = [
    `agent      ${visibleText(name)}  ${id}`,
    `groups     ${groups.length === 0 ? "-" : visibleText(groups.join(", "))}`,
    `owner      ${visibleText(owner ?? "-")}`,
    `created    ${agent.created_at}`,
    ...(workload === undefined ? [] : workloadRows(workload)),
    `requests   ${pending} pending, last ${agent.last_request_at ?? "-"}`,
    ...(receiver === null ? ["receiver   -"] : receiverRows(receiver)),
  ];
  return rows.join("\n");
}

/** Only an agent without a stored credential has these rows. */
function workloadRows({ rule, issuer, claims }: NonNullable<Instance["workload"]>): string[] {
  return [`workload   ${visibleText([rule, issuer, ...claims].join(", "))}`];
}

/** A receiver that fails repeatedly has many attempts, and its next attempt is later. */
function receiverRows(receiver: Receiver): string[] {
  const { origin, waiting, attempts, next_attempt_at: next, last_attempt: last } = receiver;
  const rows = [
    `receiver   ${visibleText(origin ?? "-")}, verified ${receiver.verified_at}`,
    `deliveries ${waiting} waiting`,
  ];
  if (attempts !== undefined) rows.push(`attempts   ${attempts}, next ${next ?? "-"}`);
  if (last !== undefined) rows.push(`last       ${last.at}, ${outcomeInWords(last)}`);
  return rows;
}
