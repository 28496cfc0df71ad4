/** Audit entries about a request: which request, and which of its transitions. */

import { timeOfId } from "@countersign/protocol";
import type { EntryContent } from "./audit-line.ts";

const REQUEST = "request:";

/** @returns undefined for an entry about something else */
export function requestIdOf({ subject }: Pick<EntryContent, "subject">): string | undefined {
  return subject.startsWith(REQUEST) ? subject.slice(REQUEST.length) : undefined;
}

export type TransitionKind = "request.opened" | "request.resolved";

/**
 * A request that was decided at its creation has one entry for both: `request.resolved` with the
 * fields of `request.opened`, and with the instance in `opened_by`. An entry with another time than
 * the creation does not open the request, whatever it contains.
 *
 * @returns empty for an entry about something else
 */
export function transitionsOf(entry: EntryContent): readonly TransitionKind[] {
  const { kind, detail } = entry;
  if (kind === "request.opened") return ["request.opened"];
  if (kind !== "request.resolved") return [];
  const isBoth = typeof detail.opened_by === "string" && isOfCreation(entry);
  return isBoth ? ["request.opened", "request.resolved"] : ["request.resolved"];
}

/** The server takes both ids from one time. */
function isOfCreation(entry: EntryContent): boolean {
  const { id, at } = entry;
  return timeOfId(id) === at && timeOfId(requestIdOf(entry) ?? "") === at;
}
