/** The commands that list, change and remove reviewers. */

import { renderColumns, usageError } from "@countersign/command-line";
import { formatTimestamp } from "@countersign/protocol";
import {
  type ListedReviewer,
  listReviewers,
  removeReviewerNamed,
  setReviewer,
} from "@countersign/server";
import type { Command } from "../command.ts";
import { groupsOf, namesCell } from "../name-list.ts";
import { ROLES, roleOf } from "../reviewer-options.ts";
import { visibleText } from "../visible-text.ts";
import { withKnownData } from "../with-data.ts";

export const reviewersList: Command = {
  usage: "reviewers list",
  help: "List reviewers with their roles and groups.",
  example: "reviewers list --project default",
  settings: ["server"],
  options: {
    project: { type: "text", value: "PROJECT", help: "Only reviewers of this project." },
  },

  async run(line, terminal) {
    line.take();
    return withKnownData(line, async ({ context }) => {
      const reviewers = await listReviewers(context, line.text("project"));
      if (line.json) terminal.out(JSON.stringify(reviewers.map(toJson)));
      else terminal.out(reviewers.length === 0 ? "There are no reviewers." : table(reviewers));
    });
  },
};

export const reviewersSet: Command = {
  usage: "reviewers set NAME",
  help: "Change the role or the groups of a reviewer.",
  example: "reviewers set alice --groups finance,ops",
  settings: ["server"],
  options: {
    project: { type: "text", value: "PROJECT", help: "Project of the reviewer. [default]" },
    role: { type: "text", value: "ROLE", help: `New role: ${ROLES}.` },
    groups: { type: "text", value: "A,B", help: "New groups; an empty list removes all." },
  },

  async run(line, terminal) {
    const [name = ""] = line.take("the name of the reviewer");
    const role = roleOf(line);
    const groups = groupsOf(line);
    if (role === undefined && groups === undefined) {
      throw usageError("give --role ROLE or --groups A,B");
    }
    const project = line.text("project") ?? "default";
    return withKnownData(line, async ({ context }) => {
      const reviewer = await setReviewer(context, { project, name, role, groups });
      const list = namesCell(reviewer.groups);
      const message = `${visibleText(name)} has role ${reviewer.role}, groups ${list}.`;
      terminal.out(line.json ? JSON.stringify(toJson({ ...reviewer, project })) : message);
    });
  },
};

export const reviewersRemove: Command = {
  usage: "reviewers remove NAME",
  help: "Remove a reviewer with all tokens, votes and grants.",
  example: "reviewers remove alice",
  settings: ["server"],
  options: {
    project: { type: "text", value: "PROJECT", help: "Project of the reviewer. [default]" },
  },

  async run(line, terminal) {
    const [name = ""] = line.take("the name of the reviewer");
    const project = line.text("project") ?? "default";
    return withKnownData(line, async ({ context }) => {
      const { id } = await removeReviewerNamed(context, project, name);
      terminal.out(line.json ? JSON.stringify({ removed: id }) : `Removed ${visibleText(name)}.`);
    });
  },
};

function toJson({ id, name, project, role, groups, isBot, removedAt }: ListedReviewer): object {
  return {
    id,
    name,
    project,
    role,
    groups,
    ...(isBot && { bot: true }),
    ...(removedAt !== null && { removed_at: formatTimestamp(removedAt) }),
  };
}

function table(reviewers: readonly ListedReviewer[]): string {
  const rows = reviewers.map((reviewer) => [
    visibleText(reviewer.name),
    visibleText(reviewer.project),
    reviewer.removedAt === null ? visibleText(reviewer.role) : "removed",
    reviewer.isBot ? "bot" : "person",
    namesCell(reviewer.groups),
  ]);
  return renderColumns([["NAME", "PROJECT", "ROLE", "KIND", "GROUPS"], ...rows]);
}
