/** Which transitions of a request an audit entry records. */

import type { EntryContent } from "./audit-line.ts";

export type TransitionKind = "request.opened" | "request.resolved";

/**
 * A request that was decided at its creation has one entry for both: `request.resolved` with the
 * fields of `request.opened`, and with the instance in `opened_by`.
 *
 * @returns empty for an entry about something else
 */
export function transitionsOf({
  kind,
  detail,
}: Pick<EntryContent, "kind" | "detail">): readonly TransitionKind[] {
  if (kind === "request.opened") return ["request.opened"];
  if (kind !== "request.resolved") return [];
  const isBoth = typeof detail.opened_by === "string";
  return isBoth ? ["request.opened", "request.resolved"] : ["request.resolved"];
}
