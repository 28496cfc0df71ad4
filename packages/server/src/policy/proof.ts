/**
 * Checks that an approval depends on a verified fact. Clients choose names, and agents report
 * context and server, so an `approve` rule must not depend on these alone.
 */

import { type Expression, someSubexpression, subexpressionsOf } from "./expression.ts";
import type { Glob } from "./glob.ts";
import type { Match } from "./rule.ts";

/** Signals depend on the context too. */
const CLAIMS: readonly string[] = ["context", "instance", "signals"];

const PROVED_FIELDS: readonly string[] = ["id", "groups"];

/** @returns the fault of the rule, or undefined */
export function findProofFault(match: Match, when: Expression | undefined): string | undefined {
  const { tools, servers, groups, instanceIds, instanceNames } = match;
  if (groups !== undefined || instanceIds !== undefined) return undefined;
  if (tools !== undefined && !tools.some(isEverything)) return undefined;
  if (when !== undefined && restsOnProof(when, true)) return undefined;
  const claims =
    instanceNames !== undefined ||
    servers !== undefined ||
    (when !== undefined && restsOnClaims(when));
  // A star alone explicitly matches everything.
  if (tools !== undefined && !claims) return undefined;
  return (
    "an approve rule must depend on a verified fact in every case: match a tool, an instance " +
    'group or id, or test args. To approve everything write match: { tool: "*" } alone'
  );
}

function isEverything(glob: Glob): boolean {
  return glob.everything;
}

/**
 * True when the expression cannot be true (or, negated, false) without a verified fact: every side
 * of an `||` needs one, and one side of an `&&` is sufficient.
 */
function restsOnProof(expression: Expression, wanted: boolean): boolean {
  if (expression.kind === "unary" && expression.operator === "!") {
    return restsOnProof(expression.operand, !wanted);
  }
  if (expression.kind === "binary") {
    const { operator, left, right } = expression;
    if (operator === "&&" || operator === "||") {
      const either = (operator === "&&") === wanted;
      const [one, other] = [restsOnProof(left, wanted), restsOnProof(right, wanted)];
      return either ? one || other : one && other;
    }
  }
  if (expression.kind === "choice") {
    const { condition, yes, no } = expression;
    return (
      (restsOnProof(condition, true) || restsOnProof(yes, wanted)) &&
      (restsOnProof(condition, false) || restsOnProof(no, wanted))
    );
  }
  return someSubexpression(expression, isProved);
}

function isProved(part: Expression): boolean {
  if (part.kind === "variable") return part.name === "args" || part.name === "tool";
  return isInstance(part) && PROVED_FIELDS.includes(part.field);
}

/** Any other access to the instance may read its name. */
function restsOnClaims(expression: Expression): boolean {
  if (isInstance(expression)) return !PROVED_FIELDS.includes(expression.field);
  if (expression.kind === "variable") return CLAIMS.includes(expression.name);
  return subexpressionsOf(expression).some(restsOnClaims);
}

function isInstance(part: Expression): part is Extract<Expression, { kind: "select" | "has" }> {
  if (part.kind !== "select" && part.kind !== "has") return false;
  return part.operand.kind === "variable" && part.operand.name === "instance";
}
