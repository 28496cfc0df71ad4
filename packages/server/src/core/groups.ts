/** Names of groups of reviewers and instances, which policy rules use. */

import { invalidField } from "@countersign/protocol";

/** Maximum for one reviewer or instance. */
export const GROUPS_MAX = 32;

export const GROUP_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;

export function isGroupName(text: string): boolean {
  return GROUP_NAME.test(text);
}

/** @throws Problem `invalid_request` with param `groups` */
export function assertGroups(names: readonly string[]): void {
  if (!names.every(isGroupName)) {
    throw invalidField(
      "groups",
      "must be names of 1 to 64 of a-z, 0-9, dot, underscore and hyphen, led by a-z or 0-9",
    );
  }
  if (new Set(names).size > GROUPS_MAX) {
    throw invalidField("groups", `must not be more than ${GROUPS_MAX}`);
  }
}

/** Without duplicates, in stored order. */
export function toGroups(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort();
}
