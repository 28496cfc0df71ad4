/**
 * Conditions: CEL expressions that are parsed, type-checked and bounded when a policy is loaded.
 *
 * Only this file uses the CEL library. The library parses and checks types. The result is
 * translated into the policy's own expression tree (expression.ts), which can only contain
 * permitted operations. The policy's own interpreter evaluates it (interpret.ts).
 *
 * Guarantees: any source throws only ConditionError, and no source takes long.
 */

import {
  type ASTNode,
  TypeError as CelTypeError,
  Environment,
  ParseError,
} from "@marcbachmann/cel-js";
import {
  type BinaryOperator,
  type Comprehension,
  type Expression,
  historyQueriesIn,
  someSubexpression,
  textsIn,
} from "./expression.ts";
import { Fault, INEXACT_FAULT } from "./fault.ts";
import { operandFault } from "./fixed-operands.ts";
import { FUNCTIONS, ZONED_FUNCTIONS } from "./functions.ts";
import { HISTORY_NAMES, isHistoryName, readWindowMs } from "./history.ts";
import { interpret, type Scope, type Step, VARIABLE_NAMES } from "./interpret.ts";
import { findUnknownSignal } from "./signal-names.ts";
import { INT_MAX, INT_MIN, isExactDouble, LongNumber } from "./values.ts";

/** A parsed condition. */
export interface Condition {
  readonly source: string;
  readonly expression: Expression;
  readonly evaluate: (scope: Scope) => boolean | Fault;
  /** True when the variable `tool` occurs in it. */
  readonly readsTool: boolean;
  /** The texts that are written in it. */
  readonly texts: readonly string[];
}

/** The result of a condition that is neither true nor false. */
export const NOT_BOOL_FAULT = new Fault("the condition returned neither true nor false");

/** An expression with a string result: the text that a reviewer must type. */
export interface TextExpression {
  readonly source: string;
  readonly expression: Expression;
  readonly evaluate: Step;
}

export interface ConditionFault {
  /** Position in the source, in UTF-16 units from 0. */
  readonly at: number;
  readonly message: string;
}

/** The source is not a valid condition. Reports every fault of one pass. */
export class ConditionError extends Error {
  readonly faults: readonly ConditionFault[];

  constructor(faults: readonly ConditionFault[]) {
    super(faults.map(({ at, message }) => `at character ${at + 1}: ${message}`).join("; "));
    this.name = "ConditionError";
    this.faults = faults;
  }
}

const NO_HISTORY = { at: 0, message: "history is available only in the `when` of a rule" };

export const CONDITION_CHARS_MAX = 4096;
const NODES_MAX = 500;
const DEPTH_MAX = 50;

/**
 * @param options.kind what the condition belongs to; a grant's condition cannot use history
 * @throws ConditionError
 */
export function compileCondition(
  source: string,
  { kind }: { readonly kind: "rule" | "grant" } = { kind: "rule" },
): Condition {
  const expression = read(source, "bool", "A condition must return true or false");
  if (kind === "grant" && historyQueriesIn(expression).length > 0)
    throw new ConditionError([NO_HISTORY]);
  return conditionOf(source, expression);
}

/** Restores a condition that was parsed earlier, possibly in another thread. */
export function conditionOf(source: string, expression: Expression): Condition {
  const step = interpret(expression);
  const evaluate = (scope: Scope): boolean | Fault => {
    const answer = step(scope);
    if (typeof answer === "boolean" || answer instanceof Fault) return answer;
    return answer instanceof LongNumber ? INEXACT_FAULT : NOT_BOOL_FAULT;
  };
  const readsTool = someSubexpression(
    expression,
    (part) => part.kind === "variable" && part.name === "tool",
  );
  return { source, expression, evaluate, readsTool, texts: textsIn(expression) };
}

/** @throws ConditionError */
export function compileText(source: string): TextExpression {
  const expression = read(source, "string", "This must return a string");
  if (historyQueriesIn(expression).length > 0) throw new ConditionError([NO_HISTORY]);
  return textOf(source, expression);
}

/** Restores a text expression that was parsed earlier, possibly in another thread. */
export function textOf(source: string, expression: Expression): TextExpression {
  return { source, expression, evaluate: interpret(expression) };
}

const TIMESTAMP = "google.protobuf.Timestamp";

/** The library requires a handler, but its evaluator is never used. */
function neverCalled(): never {
  throw new Error("the library's evaluator is not used");
}

const environment = new Environment({
  homogeneousAggregateLiterals: false,
  limits: {
    maxAstNodes: NODES_MAX,
    maxDepth: DEPTH_MAX,
    maxListElements: 200,
    maxMapEntries: 100,
    maxCallArguments: 8,
  },
})
  .registerType({
    name: "Instance",
    schema: { id: "string", name: "string", groups: "list<string>" },
  })
  .registerVariable("tool", "string")
  .registerVariable("args", "map<string, dyn>")
  .registerVariable("context", "map<string, dyn>")
  .registerVariable("instance", "Instance")
  .registerVariable("now", TIMESTAMP)
  .registerVariable("signals", "list<string>")
  .registerType({ name: "History", schema: {} })
  .registerVariable("history", "History")
  .registerFunction("glob(string, string): bool", neverCalled)
  .registerFunction("within(string, string): bool", neverCalled)
  .registerFunction(`hour(${TIMESTAMP}, string): int`, neverCalled)
  .registerFunction(`weekday(${TIMESTAMP}, string): int`, neverCalled);

for (const name of HISTORY_NAMES) {
  environment.registerFunction(`History.${name}(string): int`, neverCalled);
}

function read(source: string, type: "bool" | "string", wrongType: string): Expression {
  if (source.length > CONDITION_CHARS_MAX) {
    throw new ConditionError([{ at: 0, message: `longer than ${CONDITION_CHARS_MAX} characters` }]);
  }
  const parsed = parse(source);
  const translation = new Translation(source);
  const expression = translation.translate(parsed.ast);
  if (translation.faults.length > 0) throw new ConditionError(translation.faults);
  const unknown = findUnknownSignal(expression);
  if (unknown !== undefined) throw new ConditionError([unknown]);
  const checked = parsed.check();
  if (!checked.valid) throw new ConditionError([libraryFault(checked.error)]);
  if (checked.type !== type && checked.type !== "dyn") {
    const message = `${wrongType}, but this has the type ${checked.type}`;
    throw new ConditionError([{ at: 0, message }]);
  }
  return expression;
}

function parse(source: string): ReturnType<typeof environment.parse> {
  try {
    return environment.parse(source);
  } catch (error) {
    throw new ConditionError([libraryFault(error)]);
  }
}

function libraryFault(error: unknown): ConditionFault {
  if (error instanceof ParseError || error instanceof CelTypeError) {
    return { at: error.range?.start ?? 0, message: error.summary };
  }
  // A stack overflow, or an unexpected error of the library.
  return { at: 0, message: "the condition is nested too deep or malformed" };
}

const TYPE_NAMES = ["bool", "int", "double", "string", "list", "map", "null_type", "type"];
const MACROS: ReadonlySet<string> = new Set(["all", "exists", "exists_one", "map", "filter"]);
const INSTANCE_FIELDS = ["id", "name", "groups"];

/** Names that a macro's variable would hide, or that have a meaning in an engine. */
const RESERVED: ReadonlySet<string> = new Set([
  ...VARIABLE_NAMES,
  ...TYPE_NAMES,
  "history",
  "uint",
  "bytes",
  "google",
  "cel",
  "optional",
  "__result__",
  "__proto__",
]);

const BINARY: ReadonlySet<string> = new Set([
  "&&",
  "||",
  "==",
  "!=",
  "in",
  "<",
  "<=",
  ">",
  ">=",
  "+",
  "-",
  "*",
  "/",
  "%",
]);

function isBinary(operator: string): operator is BinaryOperator {
  return BINARY.has(operator);
}

const HISTORY_USAGE = `history has ${HISTORY_NAMES.join(", ")}, as in history.calls("1h")`;

const NOTHING: Expression = { kind: "literal", at: 0, value: null };

/** Translates the library's tree. A forbidden operation becomes a fault. */
class Translation {
  readonly faults: ConditionFault[] = [];
  readonly #source: string;
  #variable: string | undefined;

  constructor(source: string) {
    this.#source = source;
  }

  translate(node: ASTNode): Expression {
    const at = node.start;
    switch (node.op) {
      case "value":
        return this.#literal(node, false);
      case "id":
        return this.#name(node.args, at);
      case ".":
        return this.#select(node.args[0], node.args[1], at);
      case "[]": {
        const [operand, index] = [this.translate(node.args[0]), this.translate(node.args[1])];
        return { kind: "index", at, operand, index };
      }
      case "call":
        return this.#call(node.args[0], node.args[1], at);
      case "rcall":
        return this.#method(node.args[0], node.args[1], node.args[2], at);
      case "list":
        return { kind: "list", at, items: node.args.map((item) => this.translate(item)) };
      case "map": {
        const entries = node.args.map(
          ([key, value]) => [this.translate(key), this.translate(value)] as const,
        );
        return { kind: "map", at, entries };
      }
      case "?:": {
        const [condition, yes, no] = node.args;
        return {
          kind: "choice",
          at,
          condition: this.translate(condition),
          yes: this.translate(yes),
          no: this.translate(no),
        };
      }
      case "!_":
        return { kind: "unary", at, operator: "!", operand: this.translate(node.args) };
      case "-_":
        return this.#negative(node.args, at);
      default:
        return this.#binary(node, at);
    }
  }

  #binary(node: ASTNode, at: number): Expression {
    const { op, args } = node;
    if (!isBinary(op) || !Array.isArray(args)) return this.#refuse(at, `\`${op}\` is not allowed`);
    const [left, right] = args as [ASTNode, ASTNode];
    const operands = { left: this.translate(left), right: this.translate(right) };
    return { kind: "binary", at, operator: op, ...operands };
  }

  #negative(operand: ASTNode, at: number): Expression {
    if (operand.op === "value" && typeof operand.args === "bigint") {
      return this.#literal(operand, true);
    }
    return { kind: "unary", at, operator: "-", operand: this.translate(operand) };
  }

  #literal(node: ASTNode, negative: boolean): Expression {
    const at = node.start;
    const value = node.args;
    if (typeof value === "bigint") {
      const signed = negative ? -value : value;
      if (signed >= INT_MIN && signed <= INT_MAX) return { kind: "literal", at, value: signed };
      return this.#refuse(at, "an int has 64 bits, but this number needs more");
    }
    if (typeof value === "number") {
      if (isExactDouble(this.#source.slice(node.start, node.end))) {
        return { kind: "literal", at, value };
      }
      return this.#refuse(at, "a double cannot hold this number exactly");
    }
    if (value === null || typeof value === "string" || typeof value === "boolean") {
      return { kind: "literal", at, value };
    }
    return this.#refuse(at, "unsigned numbers and bytes are not supported: use an int or a string");
  }

  #name(name: string, at: number): Expression {
    if (name === this.#variable || VARIABLE_NAMES.includes(name)) {
      return { kind: "variable", at, name };
    }
    if (TYPE_NAMES.includes(name)) return { kind: "type", at, name };
    if (name === "history") return this.#refuse(at, HISTORY_USAGE);
    if (name === "agent_reasoning") {
      return this.#refuse(at, "agent_reasoning is not available to a policy");
    }
    return this.#refuse(at, `unknown name \`${name}\`: use ${VARIABLE_NAMES.join(", ")}`);
  }

  #select(operand: ASTNode, field: string, at: number): Expression {
    if (operand.op === "id" && operand.args === "instance" && !INSTANCE_FIELDS.includes(field)) {
      const message = `an instance has no \`${field}\`, only ${INSTANCE_FIELDS.join(", ")}`;
      return this.#refuse(at, message);
    }
    return { kind: "select", at, operand: this.translate(operand), field };
  }

  #call(name: string, args: readonly ASTNode[], at: number): Expression {
    if (name === "has") return this.#has(args, at);
    const known = FUNCTIONS.get(name);
    if (!ZONED_FUNCTIONS.has(name) && known === undefined) return this.#unknown(name, at);
    const operands = args.map((arg) => this.translate(arg));
    const counts = known?.free ?? [2];
    if (!counts.includes(operands.length)) return this.#wrongCount(name, at);
    const fault = operandFault(name, operands[1]);
    if (fault !== undefined) return this.#refuse(fault.at ?? at, fault.message);
    return { kind: "call", at, name, operands };
  }

  #has(args: readonly ASTNode[], at: number): Expression {
    const [only] = args;
    if (args.length !== 1 || only?.op !== ".") {
      return this.#refuse(at, "has() takes a field, as in has(args.amount)");
    }
    const selected = this.#select(only.args[0], only.args[1], only.start);
    if (selected.kind !== "select") return selected;
    return { kind: "has", at, operand: selected.operand, field: selected.field };
  }

  #method(name: string, receiver: ASTNode, args: readonly ASTNode[], at: number): Expression {
    if (receiver.op === "id" && receiver.args === "history") return this.#history(name, args, at);
    if (MACROS.has(name)) return this.#macro(name as Comprehension["macro"], receiver, args, at);
    const known = FUNCTIONS.get(name);
    if (known === undefined) return this.#unknown(name, at);
    const operands = [receiver, ...args].map((arg) => this.translate(arg));
    if (!known.method.includes(operands.length)) return this.#wrongCount(name, at);
    return { kind: "call", at, name, operands };
  }

  #history(name: string, args: readonly ASTNode[], at: number): Expression {
    const [span] = args;
    if (!isHistoryName(name) || args.length !== 1 || span === undefined) {
      return this.#refuse(at, HISTORY_USAGE);
    }
    const text = span.op === "value" ? span.args : undefined;
    const windowMs = typeof text === "string" ? readWindowMs(text) : undefined;
    if (windowMs !== undefined) return { kind: "history", at, name, windowMs };
    return this.#refuse(span.start, 'a time of 1s to 31d must be written out, such as "24h"');
  }

  #macro(
    macro: Comprehension["macro"],
    receiver: ASTNode,
    args: readonly ASTNode[],
    at: number,
  ): Expression {
    const range = this.translate(receiver);
    const [name, ...rest] = args;
    const wanted = macro === "map" ? [1, 2] : [1];
    if (name?.op !== "id" || !wanted.includes(rest.length)) {
      return this.#refuse(
        at,
        `${macro}() takes a name and an expression, as in ${macro}(x, x > 1)`,
      );
    }
    const variable = name.args;
    if (RESERVED.has(variable)) {
      return this.#refuse(name.start, `\`${variable}\` is reserved: use another name`);
    }
    if (this.#variable !== undefined) {
      return this.#refuse(at, `${macro}() cannot be nested in another macro`);
    }
    this.#variable = variable;
    const translated = rest.map((each) => this.translate(each));
    this.#variable = undefined;
    const predicate = macro === "map" && rest.length === 1 ? undefined : translated[0];
    const transform = macro === "map" ? translated.at(-1) : undefined;
    return { kind: "comprehension", at, macro, range, variable, predicate, transform };
  }

  #unknown(name: string, at: number): Expression {
    if (name === "matches") {
      return this.#refuse(at, 'matches() is not allowed: use glob(text, "a pattern with * and ?")');
    }
    const names = [...FUNCTIONS.keys(), ...ZONED_FUNCTIONS, ...MACROS, "has"].sort();
    return this.#refuse(at, `unknown function ${name}(): use ${names.join(", ")}`);
  }

  #wrongCount(name: string, at: number): Expression {
    const known = FUNCTIONS.get(name);
    const style = (known?.free.length ?? 1) > 0 ? `${name}(x)` : `x.${name}()`;
    return this.#refuse(at, `${name}() has another call style, such as ${style}`);
  }

  #refuse(at: number, message: string): Expression {
    this.faults.push({ at, message });
    return NOTHING;
  }
}
