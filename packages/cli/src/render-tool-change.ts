/** The changed definition of a tool, for people. */

import { type ReviewedRequest, toolChangeOf } from "@countersign/review-api";
import { layOutJson } from "./visible-text.ts";

/** Lines of a card; none without a change. */
export function renderToolChange(request: ReviewedRequest): string[] {
  const change = toolChangeOf(request);
  if (change === undefined) return [];
  const title = "changed    the definition of this tool changed since its last approved call";
  if (change === "invalid") return [title, "  The adapter does not report both definitions."];
  return [
    title,
    "  before",
    renderDefinition(change.before),
    "  after",
    renderDefinition(change.after),
  ];
}

function renderDefinition(text: string): string {
  return layOutJson(text).replace(/^/gm, "    ");
}
