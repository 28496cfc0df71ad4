/** The command that compares a draft policy with the decisions of past calls. */

import { EXIT, type Terminal, usageError } from "@countersign/command-line";
import { exactText, type SimulatedChange, type SimulationSummary } from "@countersign/review-api";
import type { Command } from "../command.ts";
import { connectApi } from "../connect-api.ts";
import {
  examineFile,
  FLOOR,
  readPolicyFile,
  refuseFile,
  scopeOf,
  withPlaces,
} from "../policy-file.ts";
import type { SettingsLine } from "../settings-line.ts";
import { visibleText } from "../visible-text.ts";
import { numberOf } from "./policy-versions.ts";

/** The most examples that the server returns for each kind of change. */
const EXAMPLES_MAX = 100_000;

export const policySimulate: Command = {
  usage: "policy simulate FILE",
  help: "Show what a draft would change for past calls.",
  example: "policy simulate policy.yaml --since 7d",
  settings: ["client"],
  options: {
    ...FLOOR,
    since: {
      type: "text",
      value: "SPAN",
      help: "Start: a span such as 7d or 12h, or a timestamp. [7d]",
    },
    until: { type: "text", value: "SPAN", help: "End: a span or a timestamp. [now]" },
    instance: { type: "text", value: "ID", help: "Only the calls of this instance." },
    limit: {
      type: "text",
      value: "COUNT",
      help: "Maximum number of calls, latest first. [100000]",
    },
    all: { type: "flag", help: "Print all changed calls, not only 100 of each kind." },
  },

  async run(line, terminal) {
    const [file = ""] = line.take("the file of the policy");
    const source = readPolicyFile(file);
    const { policy, findings } = examineFile(source, line.flag("floor"));
    // A simulation also runs when the policy's tests fail.
    if (policy === undefined) refuseFile(file, findings, terminal, line.json);
    const order = orderOf(line, source);
    await withPlaces(file, terminal, line.json, () => follow(line, terminal, order));
    return EXIT.done;
  },
};

type Order = ReturnType<typeof orderOf>;

async function follow(line: SettingsLine, terminal: Terminal, body: Order): Promise<void> {
  const api = connectApi(line);
  let total: number | null = null;
  for await (const entry of api.lines(`POST /${scopeOf(line)}/simulate`, { body })) {
    if (line.json) {
      terminal.out(exactText(entry));
      if (entry.event === "summary") return;
      continue;
    }
    switch (entry.event) {
      case "started":
        total = entry.total;
        terminal.status("Reading past calls ...");
        break;
      case "progress":
        terminal.status(progress(entry.replayed, total));
        break;
      case "changed":
        terminal.out(renderChange(entry));
        break;
      case "summary":
        terminal.out(renderSummary(entry));
        return;
    }
  }
  // The stream ended without a summary.
  throw api.unexpectedAnswer();
}

function orderOf(line: SettingsLine, source: string) {
  return {
    source,
    since: spanOf(line, "since"),
    until: spanOf(line, "until"),
    instance_id: line.text("instance"),
    limit: numberOf(line, "limit"),
    examples: line.flag("all") ? EXAMPLES_MAX : undefined,
  };
}

/** Days are ours; the server knows hours. */
function spanOf(line: SettingsLine, name: "since" | "until"): string | undefined {
  const value = line.text(name);
  if (value === undefined) return undefined;
  const days = /^([1-9]\d{0,4})d$/.exec(value)?.[1];
  if (days !== undefined) return `${Number(days) * 24}h`;
  if (!/^[1-9]\d{0,8}[smh]$/.test(value) && Number.isNaN(Date.parse(value))) {
    throw usageError(`--${name} must be a span such as 7d or 12h, or a timestamp`);
  }
  return value;
}

function progress(replayed: number, total: number | null): string {
  if (total === null || total === 0) return `${counted(replayed)} calls`;
  const percent = Math.floor((100 * replayed) / total);
  return `${percent} %, ${counted(replayed)} of ${counted(total)} calls`;
}

function renderChange(change: SimulatedChange): string {
  const { id, server, instance, was, would_be: wouldBe, because, status, differs = [] } = change;
  const tool = server === undefined ? change.tool : `${change.tool} on ${server}`;
  if (differs.length > 0) {
    const parts = differs.join(", ");
    return visibleText(`${id}  ask changes    ${tool}  ${instance.name}  in ${parts}; ${because}`);
  }
  const what = `${was}->${wouldBe}`.padEnd(13);
  const end = status === "pending" ? "pending now" : `${status} then`;
  return visibleText(`${id}  ${what}  ${tool}  ${instance.name}  because ${because}; ${end}`);
}

function renderSummary(summary: SimulationSummary): string {
  const { replayed, unchanged, unreadable, errors, ended } = summary;
  const requirementChanged = summary.requirement_changed;
  const changes = [
    ...Object.entries(summary.changes).map(([kind, count]) => `${counted(count)} ${kind}`),
    ...(requirementChanged > 0 ? [`${counted(requirementChanged)} requirement changed`] : []),
  ];
  const what = changes.length === 0 ? "none changes" : changes.join(", ");
  const remarks = [
    `${counted(unchanged)} unchanged`,
    ...(errors > 0 ? [`${counted(errors)} with an error in a rule`] : []),
    ...(unreadable > 0 ? [`${counted(unreadable)} damaged calls skipped`] : []),
  ];
  const why = ENDS[ended];
  return [
    `Of ${counted(replayed)} calls: ${what}.`,
    `${remarks.join(", ")}.`,
    ...(why === undefined ? [] : [why]),
    "Groups of instances are those of today.",
  ].join("\n");
}

const ENDS: Readonly<Record<string, string>> = {
  limit: "Older calls were skipped. Raise --limit to include them.",
  time: "The time limit was reached. Older calls were skipped.",
};

function counted(number: number): string {
  return number.toLocaleString("en-US");
}
