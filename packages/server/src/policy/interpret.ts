/**
 * Compiles an expression tree into a function at load. The parser's own evaluator is not used: see
 * docs/decisions/0014.
 *
 * Guarantees: the function throws only StepsExceeded, returns a Fault for every CEL error, and
 * spends a step from the meter for every value that it reads.
 */

import type { Binary, Comprehension, Expression, FunctionCall } from "./expression.ts";
import { Fault, INEXACT_FAULT } from "./fault.ts";
import { FUNCTIONS, functionInZone, ZONED_FUNCTIONS } from "./functions.ts";
import { matchesGlob, readGlob } from "./glob.ts";
import { answerHistoryQuery, type CallHistory, historyKey } from "./history.ts";
import type { Meter } from "./meter.ts";
import {
  calculate,
  compare,
  contains,
  equals,
  isList,
  itemAt,
  keyOf,
  negate,
} from "./operators.ts";
import { type CelKey, type CelValue, isMap, LongNumber, TypeName, typeOf } from "./values.ts";

/** The input of one evaluation. */
export interface Scope {
  /** The name by which a rule matches; a tool of an MCP server has several. */
  tool: CelValue;
  readonly args: CelValue;
  readonly context: CelValue;
  readonly instance: CelValue;
  readonly now: CelValue;
  readonly history: CallHistory | undefined;
  /** Computed at the first use. */
  readonly signals: (meter: Meter) => readonly string[] | Fault;
  meter: Meter;
  /** The value of a macro's variable. Macros are not nested. */
  local: CelValue;
}

export type Step = (scope: Scope) => CelValue | Fault;

const VARIABLES: ReadonlyMap<string, Step> = new Map<string, Step>([
  ["tool", (scope) => scope.tool],
  ["args", (scope) => scope.args],
  ["context", (scope) => scope.context],
  ["instance", (scope) => scope.instance],
  ["now", (scope) => scope.now],
  ["signals", (scope) => scope.signals(scope.meter)],
]);

export const VARIABLE_NAMES: readonly string[] = [...VARIABLES.keys()];

export function interpret(expression: Expression): Step {
  switch (expression.kind) {
    case "literal": {
      const { value } = expression;
      return () => value;
    }
    case "type": {
      const type = new TypeName(expression.name);
      return () => type;
    }
    case "variable":
      // Any other name is the variable of the surrounding macro.
      return VARIABLES.get(expression.name) ?? ((scope) => scope.local);
    case "select":
      return select(interpret(expression.operand), expression.field);
    case "has":
      return has(interpret(expression.operand), expression.field);
    case "index":
      return both(expression.operand, expression.index, (container, index, meter) => {
        meter.spend(1);
        return itemAt(container, index);
      });
    case "call":
      return call(expression);
    case "history": {
      const key = historyKey(expression);
      return (scope) => answerHistoryQuery(scope.history, key);
    }
    case "list":
      return list(expression.items.map(interpret));
    case "map":
      return map(expression.entries.map(([key, value]) => [interpret(key), interpret(value)]));
    case "unary":
      return unary(expression.operator, interpret(expression.operand));
    case "binary":
      return binary(expression);
    case "choice":
      return choice(expression);
    case "comprehension":
      return comprehension(expression);
  }
}

function select(operand: Step, field: string): Step {
  const missing = new Fault(`there is no field \`${field}\``);
  return (scope) => {
    scope.meter.spend(1);
    const value = operand(scope);
    if (value instanceof Fault) return value;
    if (!isMap(value)) return noField(value, field);
    const member = value.get(field);
    return member === undefined ? missing : member;
  };
}

function has(operand: Step, field: string): Step {
  return (scope) => {
    scope.meter.spend(1);
    const value = operand(scope);
    if (value instanceof Fault) return value;
    return isMap(value) ? value.has(field) : noField(value, field);
  };
}

function noField(value: CelValue, field: string): Fault {
  if (value instanceof LongNumber) return INEXACT_FAULT;
  return new Fault(`a value of type ${typeOf(value)} has no field \`${field}\``);
}

type Both = (left: CelValue, right: CelValue, meter: Meter) => CelValue | Fault;

function both(left: Expression, right: Expression, apply: Both): Step {
  const [first, second] = [interpret(left), interpret(right)];
  return (scope) => {
    const one = first(scope);
    if (one instanceof Fault) return one;
    const other = second(scope);
    return other instanceof Fault ? other : apply(one, other, scope.meter);
  };
}

function call({ name, operands }: FunctionCall): Step {
  const steps = operands.map(interpret);
  const apply = special(name, operands) ?? FUNCTIONS.get(name)?.apply;
  if (apply === undefined) throw new Error(`no function ${name}`);
  return (scope) => {
    scope.meter.spend(1);
    const values: CelValue[] = [];
    for (const step of steps) {
      const value = step(scope);
      if (value instanceof Fault) return value;
      values.push(value);
    }
    return apply(values, scope.meter);
  };
}

type Apply = (operands: readonly CelValue[], meter: Meter) => CelValue | Fault;

/** Precomputes operands that are known at load. */
function special(name: string, operands: readonly Expression[]): Apply | undefined {
  const [, second] = operands;
  if (second?.kind !== "literal" || typeof second.value !== "string") return undefined;
  if (ZONED_FUNCTIONS.has(name)) return functionInZone(name, second.value);
  const pattern = name === "glob" ? readGlob(second.value) : undefined;
  if (pattern === undefined) return undefined;
  return ([text = null], meter) => {
    if (typeof text === "string") return matchesGlob(pattern, text, meter);
    return text instanceof LongNumber
      ? INEXACT_FAULT
      : new Fault(`no glob(${typeOf(text)}, string)`);
  };
}

function list(items: readonly Step[]): Step {
  return (scope) => {
    scope.meter.spend(1);
    const values: CelValue[] = [];
    for (const item of items) {
      const value = item(scope);
      if (value instanceof Fault) return value;
      values.push(value);
    }
    return values;
  };
}

const KEY_TWICE = new Fault("a map has the same key twice");
const NO_KEY = new Fault("a key of a map is text, an int or a bool");

function map(entries: readonly (readonly [Step, Step])[]): Step {
  return (scope) => {
    scope.meter.spend(1);
    const values = new Map<CelKey, CelValue>();
    for (const [keyStep, valueStep] of entries) {
      const keyValue = keyStep(scope);
      if (keyValue instanceof Fault) return keyValue;
      const key = typeof keyValue === "number" ? undefined : keyOf(keyValue);
      if (key instanceof Fault) return key;
      const value = valueStep(scope);
      if (value instanceof Fault) return value;
      if (key === undefined) return NO_KEY;
      if (values.has(key)) return KEY_TWICE;
      values.set(key, value);
    }
    return values;
  };
}

function unary(operator: "!" | "-", operand: Step): Step {
  return (scope) => {
    scope.meter.spend(1);
    const value = operand(scope);
    if (value instanceof Fault) return value;
    if (operator === "-") return negate(value);
    return typeof value === "boolean" ? !value : notBool(value);
  };
}

function notBool(value: CelValue): Fault {
  if (value instanceof LongNumber) return INEXACT_FAULT;
  return new Fault(`expected true or false, got a value of type ${typeOf(value)}`);
}

function binary({ operator, left, right }: Binary): Step {
  switch (operator) {
    case "&&":
      return logical(false, interpret(left), interpret(right));
    case "||":
      return logical(true, interpret(left), interpret(right));
    case "==":
      return both(left, right, equals);
    case "!=":
      return both(left, right, (one, other, meter) => {
        const equal = equals(one, other, meter);
        return equal instanceof Fault ? equal : !equal;
      });
    case "in":
      return both(left, right, contains);
    case "<":
    case "<=":
    case ">":
    case ">=":
      return both(left, right, (one, other, meter) => {
        const order = compare(one, other, operator, meter);
        return order instanceof Fault ? order : ORDERS[operator](order);
      });
    default:
      return both(left, right, (one, other, meter) => calculate(one, operator, other, meter));
  }
}

const ORDERS = {
  "<": (order: number) => order < 0,
  "<=": (order: number) => order <= 0,
  ">": (order: number) => order > 0,
  ">=": (order: number) => order >= 0,
};

/** One side is sufficient; an error on the other side then has no effect. */
function logical(deciding: boolean, left: Step, right: Step): Step {
  return (scope) => {
    scope.meter.spend(1);
    const one = left(scope);
    if (one === deciding) return deciding;
    const other = right(scope);
    if (other === deciding) return deciding;
    if (one !== !deciding) return one instanceof Fault ? one : notBool(one);
    if (other !== !deciding) return other instanceof Fault ? other : notBool(other);
    return !deciding;
  };
}

function choice(expression: Extract<Expression, { kind: "choice" }>): Step {
  const condition = interpret(expression.condition);
  const yes = interpret(expression.yes);
  const no = interpret(expression.no);
  return (scope) => {
    scope.meter.spend(1);
    const chosen = condition(scope);
    if (chosen === true) return yes(scope);
    if (chosen === false) return no(scope);
    return chosen instanceof Fault ? chosen : notBool(chosen);
  };
}

function comprehension(expression: Comprehension): Step {
  const range = interpret(expression.range);
  const loop = loopOf(expression);
  return (scope) => {
    scope.meter.spend(1);
    const container = range(scope);
    if (container instanceof Fault) return container;
    const items = itemsOf(container);
    return items instanceof Fault ? items : loop(items, scope);
  };
}

/** Over the keys of a map, as in CEL. */
function itemsOf(container: CelValue): readonly CelValue[] | Fault {
  if (isList(container)) return container;
  if (isMap(container)) return [...container.keys()];
  if (container instanceof LongNumber) return INEXACT_FAULT;
  return new Fault(`a macro needs a list or a map, not a value of type ${typeOf(container)}`);
}

type Loop = (items: readonly CelValue[], scope: Scope) => CelValue | Fault;

function loopOf({ macro, predicate, transform }: Comprehension): Loop {
  const test = predicate === undefined ? undefined : interpret(predicate);
  const make = transform === undefined ? undefined : interpret(transform);
  if (test === undefined) return collecting(undefined, make);
  switch (macro) {
    case "all":
      return quantifier(false, test);
    case "exists":
      return quantifier(true, test);
    case "exists_one":
      return exactlyOne(test);
    default:
      return collecting(test, make);
  }
}

/** As a chain of `&&` or `||` over the items. */
function quantifier(deciding: boolean, test: Step): Loop {
  return (items, scope) => {
    let fault: Fault | undefined;
    for (const item of items) {
      const answer = testItem(test, item, scope);
      if (answer === deciding) return deciding;
      if (answer instanceof Fault) fault ??= answer;
    }
    return fault ?? !deciding;
  };
}

function exactlyOne(test: Step): Loop {
  return (items, scope) => {
    let count = 0;
    for (const item of items) {
      const answer = testItem(test, item, scope);
      if (answer instanceof Fault) return answer;
      if (answer) count++;
    }
    return count === 1;
  };
}

/** `filter` without `make`, otherwise `map`. */
function collecting(test: Step | undefined, make: Step | undefined): Loop {
  return (items, scope) => {
    const values: CelValue[] = [];
    for (const item of items) {
      const wanted = test === undefined ? true : testItem(test, item, scope);
      if (wanted instanceof Fault) return wanted;
      if (!wanted) continue;
      scope.meter.spend(2);
      scope.local = item;
      const value = make === undefined ? item : make(scope);
      if (value instanceof Fault) return value;
      values.push(value);
    }
    return values;
  };
}

function testItem(test: Step, item: CelValue, scope: Scope): boolean | Fault {
  scope.meter.spend(2);
  scope.local = item;
  const answer = test(scope);
  if (typeof answer === "boolean") return answer;
  return answer instanceof Fault ? answer : notBool(answer);
}
