/** Finds conditions that are never true, for example `args.env == "a" && args.env == "b"`. */

import type { BinaryOperator, Expression } from "./expression.ts";

/** A comparison of a member with a literal. */
interface Comparison {
  readonly path: string;
  readonly operator: BinaryOperator;
  readonly value: Literal;
}

type Literal = Extract<Expression, { kind: "literal" }>["value"];

/** Parts of a conjunction to compare at most. */
const PARTS_MAX = 50;

/** @returns the member that would need two values at once; undefined when nothing is proved */
export function findContradiction(when: Expression): string | undefined {
  const comparisons = conjunctsOf(when)
    .slice(0, PARTS_MAX)
    .map(comparisonIn)
    .filter((one) => one !== undefined);
  for (const [index, one] of comparisons.entries()) {
    for (const other of comparisons.slice(index + 1)) {
      if (one.path === other.path && excludes(one, other)) return one.path;
    }
  }
  return undefined;
}

function conjunctsOf(expression: Expression): readonly Expression[] {
  if (expression.kind !== "binary" || expression.operator !== "&&") return [expression];
  return [...conjunctsOf(expression.left), ...conjunctsOf(expression.right)];
}

function comparisonIn(expression: Expression): Comparison | undefined {
  if (expression.kind !== "binary") return undefined;
  const { operator, left, right } = expression;
  const path = pathOf(left);
  if (path === undefined || right.kind !== "literal") return undefined;
  return { path, operator, value: right.value };
}

/** Like `args.customer.id`: the same value wherever the condition reads it. */
function pathOf(expression: Expression): string | undefined {
  if (expression.kind === "variable") return expression.name;
  if (expression.kind !== "select") return undefined;
  const operand = pathOf(expression.operand);
  return operand && `${operand}.${expression.field}`;
}

/** True only when no value satisfies both. */
function excludes(one: Comparison, other: Comparison): boolean {
  // Literals of different types can be equal (1 and 1.0), or their comparison fails.
  if (typeof one.value !== typeof other.value || one.value === null) return false;
  if (one.operator === "==" && other.operator === "==") return one.value !== other.value;
  return excludesRange(one, other) || excludesRange(other, one);
}

function excludesRange(upper: Comparison, lower: Comparison): boolean {
  if (upper.operator !== "<" && upper.operator !== "<=") return false;
  if (lower.operator !== ">" && lower.operator !== ">=") return false;
  return isNumber(upper.value) && isNumber(lower.value) && upper.value < lower.value;
}

function isNumber(value: Literal): value is bigint | number {
  return typeof value === "bigint" || typeof value === "number";
}
