/**
 * A CEL expression as a tree of permitted operations.
 *
 * Guarantees: it is plain data, which can be sent to another thread.
 */

import { type HistoryName, type HistoryQuery, historyKey } from "./history.ts";

/** Start of the part in the source, in UTF-16 units. */
interface At {
  readonly at: number;
}

export type Expression = At &
  (
    | Literal
    | TypeLiteral
    | Variable
    | Select
    | Index
    | Has
    | FunctionCall
    | History
    | List
    | MapLiteral
    | Unary
    | Binary
    | Choice
    | Comprehension
  );

interface Literal {
  readonly kind: "literal";
  readonly value: string | bigint | number | boolean | null;
}

/** A type name, which is a value. */
interface TypeLiteral {
  readonly kind: "type";
  readonly name: string;
}

interface Variable {
  readonly kind: "variable";
  readonly name: string;
}

interface Select {
  readonly kind: "select";
  readonly operand: Expression;
  readonly field: string;
}

interface Index {
  readonly kind: "index";
  readonly operand: Expression;
  readonly index: Expression;
}

/** `has(operand.field)` */
interface Has {
  readonly kind: "has";
  readonly operand: Expression;
  readonly field: string;
}

export interface FunctionCall {
  readonly kind: "call";
  readonly name: string;
  /** The receiver first, if there is one. */
  readonly operands: readonly Expression[];
}

/** `history.NAME("1h")`: see history.ts. */
interface History {
  readonly kind: "history";
  readonly name: HistoryName;
  readonly windowMs: number;
}

interface List {
  readonly kind: "list";
  readonly items: readonly Expression[];
}

interface MapLiteral {
  readonly kind: "map";
  readonly entries: readonly (readonly [Expression, Expression])[];
}

interface Unary {
  readonly kind: "unary";
  readonly operator: "!" | "-";
  readonly operand: Expression;
}

export type BinaryOperator =
  | ("&&" | "||")
  | ("==" | "!=" | "in")
  | ("<" | "<=" | ">" | ">=")
  | ("+" | "-" | "*" | "/" | "%");

export interface Binary {
  readonly kind: "binary";
  readonly operator: BinaryOperator;
  readonly left: Expression;
  readonly right: Expression;
}

interface Choice {
  readonly kind: "choice";
  readonly condition: Expression;
  readonly yes: Expression;
  readonly no: Expression;
}

/** A macro over a list, or over the keys of a map. Macros are not nested. */
export interface Comprehension {
  readonly kind: "comprehension";
  readonly macro: "all" | "exists" | "exists_one" | "map" | "filter";
  readonly range: Expression;
  readonly variable: string;
  readonly predicate: Expression | undefined;
  /** Only for `map`. */
  readonly transform: Expression | undefined;
}

/** The direct subexpressions, in source order. */
export function subexpressionsOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case "history":
    case "literal":
    case "type":
    case "variable":
      return [];
    case "select":
    case "has":
    case "unary":
      return [expression.operand];
    case "index":
      return [expression.operand, expression.index];
    case "call":
      return expression.operands;
    case "list":
      return expression.items;
    case "map":
      return expression.entries.flat();
    case "binary":
      return [expression.left, expression.right];
    case "choice":
      return [expression.condition, expression.yes, expression.no];
    case "comprehension": {
      const { range, predicate, transform } = expression;
      return [range, predicate, transform].filter((part) => part !== undefined);
    }
  }
}

/** True when any subexpression satisfies the predicate. */
export function someSubexpression(
  expression: Expression,
  wanted: (part: Expression) => boolean,
): boolean {
  return (
    wanted(expression) ||
    subexpressionsOf(expression).some((part) => someSubexpression(part, wanted))
  );
}

/** The texts that are written in an expression. */
export function textsIn(expression: Expression): readonly string[] {
  if (expression.kind === "literal") {
    return typeof expression.value === "string" ? [expression.value] : [];
  }
  return subexpressionsOf(expression).flatMap(textsIn);
}

/** The history queries of an expression, without duplicates. */
export function historyQueriesIn(expression: Expression): readonly HistoryQuery[] {
  const queries = new Map<string, HistoryQuery>();
  collect(expression, queries);
  return [...queries.values()];
}

function collect(expression: Expression, queries: Map<string, HistoryQuery>): void {
  if (expression.kind === "history") {
    const { name, windowMs } = expression;
    queries.set(historyKey(expression), { name, windowMs });
  }
  for (const part of subexpressionsOf(expression)) collect(part, queries);
}
