/** The commands that set, end and list the absences of reviewers. */

import { EXIT, renderColumns, usageError } from "@countersign/command-line";
import { exactText, type ShownAbsence } from "@countersign/review-api";
import type { Command } from "../command.ts";
import { connectApi } from "../connect-api.ts";
import type { ReviewerApi } from "../reviewer-api.ts";
import { visibleText } from "../visible-text.ts";

const REVIEWER = {
  type: "text",
  value: "NAME",
  help: "Reviewer; others than yourself require the power people. [yourself]",
} as const;

export const awaySet: Command = {
  usage: "away set",
  help: "Set or change an absence, with a substitute.",
  example: "away set --from 2026-03-02T17:00:00Z --until 2026-03-09T08:00:00Z --substitute ben",
  settings: ["client"],
  options: {
    from: { type: "text", value: "TIME", help: "Start, such as 2026-03-02T17:00:00Z. Required." },
    until: { type: "text", value: "TIME", help: "End, at most 90 days later. Required." },
    substitute: { type: "text", value: "NAME", help: "Reviewer who is notified instead. [none]" },
    reviewer: REVIEWER,
  },

  async run(line, terminal) {
    line.take();
    const [from, until] = [line.text("from"), line.text("until")];
    if (!from) throw usageError("--from is missing");
    if (!until) throw usageError("--until is missing");
    const body = { from, until, substitute: line.text("substitute") };
    const reviewer = line.text("reviewer");
    const api = connectApi(line);
    const answer =
      reviewer === undefined
        ? await api.call("PUT /absence", { body })
        : await api.call("PUT /reviewers/{id}/absence", {
            path: { id: await idOf(api, reviewer) },
            body,
          });
    terminal.out(line.json ? exactText(answer) : `Absent from ${from} until ${until}.`);
    return EXIT.done;
  },
};

export const awayEnd: Command = {
  usage: "away end",
  help: "End an absence.",
  example: "away end",
  settings: ["client"],
  options: { reviewer: REVIEWER },

  async run(line, terminal) {
    line.take();
    const reviewer = line.text("reviewer");
    const api = connectApi(line);
    const answer =
      reviewer === undefined
        ? await api.call("DELETE /absence")
        : await api.call("DELETE /reviewers/{id}/absence", {
            path: { id: await idOf(api, reviewer) },
          });
    const message = answer.ended ? "The absence has ended." : "There was no absence.";
    terminal.out(line.json ? exactText(answer) : message);
    return EXIT.done;
  },
};

export const awayList: Command = {
  usage: "away list",
  help: "List present and future absences.",
  example: "away list",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    line.take();
    const { absences } = await connectApi(line).call("GET /absences");
    if (line.json) terminal.out(`[${absences.map(exactText).join(",")}]`);
    else if (absences.length === 0) terminal.out("There are no absences.");
    else terminal.out(table(absences));
    return EXIT.done;
  },
};

async function idOf(api: ReviewerApi, name: string): Promise<string> {
  const { reviewers } = await api.call("GET /reviewers");
  const found = reviewers.find((one) => one.name === name);
  if (found !== undefined) return found.id;
  throw usageError(`--reviewer: ${visibleText(name)} is not a reviewer of the project`);
}

function table(absences: readonly ShownAbsence[]): string {
  const rows = absences.map(({ reviewer, from, until, absent, substitute }) => [
    visibleText(reviewer.name),
    absent ? "absent" : "later",
    from,
    until,
    substitute === undefined ? "none" : describeSubstitute(substitute),
  ]);
  return renderColumns([["REVIEWER", "STATE", "FROM", "UNTIL", "SUBSTITUTE"], ...rows]);
}

function describeSubstitute({ name, absent }: NonNullable<ShownAbsence["substitute"]>): string {
  return absent ? `${visibleText(name)} (absent too)` : visibleText(name);
}
