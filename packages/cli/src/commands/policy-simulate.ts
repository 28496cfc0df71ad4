import { EXIT, type Terminal, usageError } from "@countersign/command-line";
import type { Command } from "../command.ts";
import type { SimulatedChange, SimulationSummary } from "../policy-client.ts";
import { examineFile, FLOOR, readPolicyFile, refuseFile, withPlaces } from "../policy-file.ts";
import type { SettingsLine } from "../settings-line.ts";
import { visibleText } from "../visible-text.ts";
import { numberOf, policyClient } from "./policy-versions.ts";

/** What the server shows of each kind of change at most. */
const EXAMPLES_MAX = 100_000;

export const policySimulate: Command = {
  usage: "policy simulate FILE",
  help: "Say what a draft would change for the calls of the past. Writes nothing.",
  settings: ["client"],
  options: {
    ...FLOOR,
    since: { type: "text", value: "SPAN", help: "Like 7d or 12h ago, or a timestamp. [7d]" },
    until: { type: "text", value: "SPAN", help: "Where it ends. [now]" },
    instance: { type: "text", value: "ID", help: "Only the calls of this instance." },
    limit: { type: "text", value: "COUNT", help: "At most so many calls, the newest. [100000]" },
    all: { type: "flag", help: "Every call that changes, not only 100 of each kind." },
  },

  async run(line, terminal) {
    const [file = ""] = line.take("the file of the policy");
    const source = readPolicyFile(file);
    const { policy, findings } = examineFile(source, line.flag("floor"));
    // Failed tests are no reason not to look.
    if (policy === undefined) refuseFile(file, findings, terminal, line.json);
    const order = orderOf(line, source);
    await withPlaces(file, terminal, line.json, () => follow(line, terminal, order));
    return EXIT.done;
  },
};

type Order = Readonly<Record<string, unknown>>;

async function follow(line: SettingsLine, terminal: Terminal, order: Order): Promise<void> {
  let total: number | undefined;
  for await (const told of policyClient(line).simulate(order)) {
    if (line.json) {
      terminal.out(told.source);
      continue;
    }
    switch (told.kind) {
      case "started":
        total = told.total;
        terminal.status("Looking at the calls of the past ...");
        break;
      case "progress":
        terminal.status(progress(told.replayed, total));
        break;
      case "changed":
        terminal.out(renderChange(told.change));
        break;
      case "summary":
        terminal.out(renderSummary(told.summary));
    }
  }
}

function orderOf(line: SettingsLine, source: string): Order {
  const instance = line.text("instance");
  const limit = numberOf(line, "limit");
  return {
    source,
    ...spanOf(line, "since"),
    ...spanOf(line, "until"),
    ...(instance !== undefined && { instance_id: instance }),
    ...(limit !== undefined && { limit }),
    ...(line.flag("all") && { examples: EXAMPLES_MAX }),
  };
}

/** Days are ours; the server knows hours. */
function spanOf(line: SettingsLine, name: string): Order {
  const given = line.text(name);
  if (given === undefined) return {};
  const days = /^([1-9]\d{0,4})d$/.exec(given)?.[1];
  if (days !== undefined) return { [name]: `${Number(days) * 24}h` };
  if (!/^[1-9]\d{0,8}[smh]$/.test(given) && Number.isNaN(Date.parse(given))) {
    throw usageError(`--${name} is a span like 7d or 12h, or a timestamp`);
  }
  return { [name]: given };
}

function progress(replayed: number, total: number | undefined): string {
  if (total === undefined || total === 0) return `${counted(replayed)} calls`;
  const percent = Math.floor((100 * replayed) / total);
  return `${percent} %, ${counted(replayed)} of ${counted(total)} calls`;
}

function renderChange(change: SimulatedChange): string {
  const { id, tool, instance, was, wouldBe, because, status, differs } = change;
  if (differs.length > 0) {
    const parts = differs.join(", ");
    return visibleText(`${id}  ask changes    ${tool}  ${instance}  in ${parts}; ${because}`);
  }
  const what = `${was}->${wouldBe}`.padEnd(13);
  const end = status === "pending" ? "pending now" : `${status} then`;
  return visibleText(`${id}  ${what}  ${tool}  ${instance}  because ${because}; ${end}`);
}

function renderSummary(summary: SimulationSummary): string {
  const { replayed, unchanged, requirementChanged, unreadable, errors, ended } = summary;
  const changes = [
    ...[...summary.changes].map(([kind, count]) => `${counted(count)} ${kind}`),
    ...(requirementChanged > 0 ? [`${counted(requirementChanged)} requirement changed`] : []),
  ];
  const what = changes.length === 0 ? "none changes" : changes.join(", ");
  const remarks = [
    `${counted(unchanged)} unchanged`,
    ...(errors > 0 ? [`${counted(errors)} with an error in a rule`] : []),
    ...(unreadable > 0 ? [`${counted(unreadable)} more are damaged and were not looked at`] : []),
  ];
  const why = ENDS[ended];
  return [
    `Of ${counted(replayed)} calls: ${what}.`,
    `${remarks.join(", ")}.`,
    ...(why === undefined ? [] : [why]),
    "Instances are taken to be in the groups that they are in now.",
  ].join("\n");
}

const ENDS: Readonly<Record<string, string>> = {
  limit: "There are older calls; see --limit.",
  time: "It took too long: there are older calls that were not looked at.",
};

function counted(number: number): string {
  return number.toLocaleString("en-US");
}
