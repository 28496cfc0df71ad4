/**
 * The rule for a call of a tool with a changed definition: a person decides about it. The MCP
 * gateway reports the change as a member of the context.
 *
 * @see docs/reference/mcp-gateway.md#changed-tools
 */

import type { JsonObject } from "@countersign/protocol";
import type { Evaluation } from "./rule.ts";

/**
 * The member of the context, and the reason (`because`) of the evaluation. It is not a valid rule
 * id, so no rule of a policy has this name.
 */
export const TOOL_CHANGE = "tool_definition_change";

/** Reasons that a change replaces: no rule requires this review. */
const WITHOUT_RULE = ["no-match", "no-policy"];

/** Denials stay, and the requirement of a review only gets stricter. */
export function requirePersonAfterChange(
  evaluation: Evaluation,
  context: JsonObject | undefined,
): Evaluation {
  // Any value counts: an invalid report must not lead to an easier decision.
  if (evaluation.verb === "deny" || context?.members.has(TOOL_CHANGE) !== true) return evaluation;
  const requirement = { ...evaluation.requirement, grants: false, bots: false };
  const { verb, because } = evaluation;
  if (verb === "ask" && !WITHOUT_RULE.includes(because)) return { ...evaluation, requirement };
  return { ...evaluation, verb: "ask", because: TOOL_CHANGE, note: undefined, requirement };
}
