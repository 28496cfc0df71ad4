/** Lists of names: options that hold them, and their text in tables. */

import { usageError } from "@countersign/command-line";
import { isGroupName } from "@countersign/server/core/groups";
import type { SettingsLine } from "./settings-line.ts";
import { visibleText } from "./visible-text.ts";

/** Names with commas between them; none at all for the empty text. */
export function namesOf(line: SettingsLine, option: string): string[] | undefined {
  const text = line.text(option);
  if (text === undefined || text === "") return text === undefined ? undefined : [];
  return text.split(",").map((name) => name.trim());
}

/** @throws CommandError when one is not a valid group name */
export function groupsOf(line: SettingsLine): string[] | undefined {
  const names = namesOf(line, "groups");
  if (names === undefined || names.every(isGroupName)) return names;
  throw usageError(
    "--groups must be names of 1 to 64 of a-z, 0-9, dot, underscore and hyphen, led by a-z or 0-9",
  );
}

export function namesCell(names: readonly string[]): string {
  return names.length === 0 ? "-" : visibleText(names.join(","));
}
