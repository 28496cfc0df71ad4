/**
 * The change of a tool's definition since its last approved call, which the MCP gateway reports in
 * the context of a request.
 *
 * @see docs/reference/mcp-gateway.md#changed-tools
 */

import type { ReviewedRequest } from "./requests.ts";

/** The reason (`because`) of a review that only the change requires. */
export const TOOL_CHANGE = "tool_definition_change";

/** Both definitions, as JSON text. */
export interface ToolChange {
  readonly before: string;
  readonly after: string;
}

/** @returns undefined without a report; `invalid` for a report without both JSON texts */
export function toolChangeOf({
  context,
}: Pick<ReviewedRequest, "context">): ToolChange | "invalid" | undefined {
  if (context === undefined || context === null) return undefined;
  const members = context as unknown as Readonly<Record<string, unknown>>;
  if (!Object.hasOwn(members, TOOL_CHANGE)) return undefined;
  const { before, after } = Object(members[TOOL_CHANGE]) as Readonly<Record<string, unknown>>;
  return isJson(before) && isJson(after) ? { before, after } : "invalid";
}

function isJson(text: unknown): text is string {
  try {
    return typeof text === "string" && JSON.parse(text) !== undefined;
  } catch {
    return false;
  }
}
