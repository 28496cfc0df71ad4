/**
 * Options that say what a reviewer may do and is asked for.
 */

import { type CommandOptions, usageError } from "@countersign/command-line";
import { REVIEWER_ROLES, type ReviewerRole } from "@countersign/review-api";
import type { SettingsLine } from "./settings-line.ts";

export const ROLES = `${REVIEWER_ROLES.slice(0, -1).join(", ")} or ${REVIEWER_ROLES.at(-1)}`;

export const ROLE_AND_GROUPS: CommandOptions = {
  role: { type: "text", value: "ROLE", help: `Role of a reviewer: ${ROLES}. [reviewer]` },
  groups: { type: "text", value: "A,B", help: "Groups of a reviewer, as named in rules." },
};

/** @throws CommandError when it is none */
export function roleOf(line: SettingsLine): ReviewerRole | undefined {
  const text = line.text("role");
  const role = REVIEWER_ROLES.find((known) => known === text);
  if (text !== undefined && role === undefined) throw usageError(`--role must be one of ${ROLES}`);
  return role;
}
