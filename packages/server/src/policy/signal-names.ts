/** Finds misspelled signals in a condition: a comparison with them would always be false. */

import { CALL_SIGNALS } from "@countersign/review-api/calls";
import { type Expression, subexpressionsOf, textsIn } from "./expression.ts";

const KNOWN: readonly string[] = CALL_SIGNALS;

/** A text that a condition compares with signals and that is not the id of one. */
export function findUnknownSignal(
  expression: Expression,
): { readonly at: number; readonly message: string } | undefined {
  const unknown = comparedTexts(expression).find((text) => !KNOWN.includes(text));
  if (unknown !== undefined) {
    const message = `unknown signal \`${unknown.slice(0, 60)}\`: use ${KNOWN.join(", ")}`;
    return { at: expression.at, message };
  }
  for (const part of subexpressionsOf(expression)) {
    const found = findUnknownSignal(part);
    if (found !== undefined) return found;
  }
  return undefined;
}

function comparedTexts(expression: Expression): readonly string[] {
  if (expression.kind === "binary" && expression.operator === "in") {
    return isVariable(expression.right, "signals") ? textsIn(expression.left) : [];
  }
  if (expression.kind !== "comprehension") return [];
  const { range, variable, predicate } = expression;
  if (!isVariable(range, "signals") || predicate === undefined) return [];
  return textsComparedWith(predicate, variable);
}

function textsComparedWith(expression: Expression, variable: string): readonly string[] {
  if (expression.kind === "binary" && ["==", "!=", "in"].includes(expression.operator)) {
    const { left, right } = expression;
    if (isVariable(left, variable)) return textsIn(right);
    if (isVariable(right, variable)) return textsIn(left);
  }
  return subexpressionsOf(expression).flatMap((part) => textsComparedWith(part, variable));
}

function isVariable(expression: Expression, name: string): boolean {
  return expression.kind === "variable" && expression.name === name;
}
