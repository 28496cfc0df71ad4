/**
 * Filters of the SCIM API: parses and evaluates them.
 *
 * @see RFC 7644, section 3.4.2.2
 */

import { ScimRefusal } from "./scim-refusal.ts";
import { isObject, memberOf, type ScimObject, withoutUrn } from "./scim-resource.ts";
import {
  type Attribute,
  findAttribute,
  findSubAttribute,
  type ResourceSchema,
} from "./scim-schema.ts";

const OPERATORS = ["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"] as const;

type Operator = (typeof OPERATORS)[number];

export type Filter =
  | { readonly kind: "and" | "or"; readonly left: Filter; readonly right: Filter }
  | { readonly kind: "not"; readonly filter: Filter }
  | { readonly kind: "present"; readonly path: string }
  | {
      readonly kind: "compare";
      readonly path: string;
      readonly operator: Operator;
      readonly value: string | number | boolean | null;
    }
  /** One value of a list matches the inner filter, such as `emails[type eq "work"]`. */
  | { readonly kind: "values"; readonly path: string; readonly filter: Filter };

const FILTER_CHARS_MAX = 4_096;

const DEPTH_MAX = 20;

const TOKEN = /\s*([()[\]]|"(?:[^"\\]|\\.)*"|[^\s()[\]"]+)/y;

/** @throws ScimRefusal `invalidFilter` */
export function parseFilter(text: string): Filter {
  const parser = new Parser(text);
  const filter = parser.readOr(0);
  parser.expectEnd();
  return filter;
}

class Parser {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(text: string) {
    if (text.length > FILTER_CHARS_MAX) {
      throw invalid(`must not be longer than ${FILTER_CHARS_MAX} characters`);
    }
    this.#tokens = tokensOf(text);
  }

  expectEnd(): void {
    const token = this.#tokens[this.#at];
    if (token !== undefined) throw invalid(`has an unexpected ${token.slice(0, 40)}`);
  }

  readOr(depth: number): Filter {
    if (depth > DEPTH_MAX) throw invalid("is nested too deeply");
    let left = this.#readAnd(depth);
    while (this.#takeWord("or")) left = { kind: "or", left, right: this.#readAnd(depth) };
    return left;
  }

  #readAnd(depth: number): Filter {
    let left = this.#readTerm(depth);
    while (this.#takeWord("and")) left = { kind: "and", left, right: this.#readTerm(depth) };
    return left;
  }

  #readTerm(depth: number): Filter {
    if (this.#takeWord("not")) return { kind: "not", filter: this.#readGroup("(", ")", depth) };
    if (this.#tokens[this.#at] === "(") return this.#readGroup("(", ")", depth);
    const path = this.#take("the name of an attribute");
    if (!/^[$\w:.-]+$/.test(path)) throw invalid(`has no attribute before ${path.slice(0, 40)}`);
    if (this.#tokens[this.#at] === "[") {
      return { kind: "values", path, filter: this.#readGroup("[", "]", depth) };
    }
    const word = this.#take("an operator").toLowerCase();
    if (word === "pr") return { kind: "present", path };
    const operator = OPERATORS.find((each) => each === word);
    if (operator === undefined) throw invalid(`has an unknown operator ${word.slice(0, 40)}`);
    return { kind: "compare", path, operator, value: readLiteral(this.#take("a value")) };
  }

  #readGroup(open: string, close: string, depth: number): Filter {
    if (this.#take(open) !== open) throw invalid(`needs ${open}`);
    const filter = this.readOr(depth + 1);
    if (this.#take(close) !== close) throw invalid(`needs ${close}`);
    return filter;
  }

  #takeWord(word: string): boolean {
    if (this.#tokens[this.#at]?.toLowerCase() !== word) return false;
    this.#at++;
    return true;
  }

  #take(expected: string): string {
    const token = this.#tokens[this.#at++];
    if (token === undefined) throw invalid(`ends where ${expected} must be`);
    return token;
  }
}

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  const end = text.trimEnd().length;
  let at = 0;
  while (at < end) {
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(text)?.[1];
    if (token === undefined) throw invalid("has a string without a closing quote");
    tokens.push(token);
    at = TOKEN.lastIndex;
  }
  return tokens;
}

function readLiteral(token: string): string | number | boolean | null {
  try {
    const value: unknown = JSON.parse(token);
    // PostgreSQL stores no U+0000.
    const isKnown = typeof value !== "string" || !value.includes("\0");
    if (isKnown && (value === null || typeof value !== "object")) return value as string;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw invalid(`has an invalid value ${token.slice(0, 40)}. Write strings in double quotes`);
}

function invalid(fault: string): ScimRefusal {
  return new ScimRefusal("invalidFilter", `The filter ${fault}.`);
}

/**
 * True when a resource matches.
 *
 * @param resource as the server sends it
 * @throws ScimRefusal `invalidFilter` for an unknown attribute
 */
export function matchesScimFilter(
  schema: ResourceSchema,
  filter: Filter,
  resource: ScimObject,
): boolean {
  return matches(filter, resource, (name) => findAttribute(schema, withoutUrn(schema, name)));
}

/** True when one value of a multi-valued attribute matches. */
export function matchesValue(parent: Attribute, filter: Filter, value: unknown): boolean {
  return isObject(value) && matches(filter, value, (name) => findSubAttribute(parent, name));
}

type Find = (name: string) => Attribute | undefined;

function matches(filter: Filter, object: ScimObject, find: Find): boolean {
  switch (filter.kind) {
    case "and": {
      // Both sides, so that an unknown attribute is an error for every resource.
      const [left, right] = bothOf(filter, object, find);
      return left && right;
    }
    case "or": {
      const [left, right] = bothOf(filter, object, find);
      return left || right;
    }
    case "not":
      return !matches(filter.filter, object, find);
    case "present":
      return valuesAt(filter.path, object, find).values.length > 0;
    case "values": {
      const { attribute, values } = valuesAt(filter.path, object, find, false);
      // An empty value, so that an unknown sub-attribute is an error for every resource.
      matchesValue(attribute, filter.filter, {});
      return values.some((value) => matchesValue(attribute, filter.filter, value));
    }
    case "compare": {
      const { attribute, values } = valuesAt(filter.path, object, find);
      if (filter.value === null) {
        return filter.operator === "eq" ? values.length === 0 : values.length > 0;
      }
      if (filter.operator === "ne") {
        return !values.some((value) => compares(attribute, value, "eq", filter.value));
      }
      return values.some((value) => compares(attribute, value, filter.operator, filter.value));
    }
  }
}

function bothOf(
  { left, right }: { readonly left: Filter; readonly right: Filter },
  object: ScimObject,
  find: Find,
): readonly [boolean, boolean] {
  return [matches(left, object, find), matches(right, object, find)];
}

/**
 * All values at a path such as `emails.value`.
 *
 * @param entersValue true: the values of a list of objects are their sub-attribute `value`
 */
function valuesAt(
  path: string,
  object: ScimObject,
  find: Find,
  entersValue = true,
): { readonly attribute: Attribute; readonly values: readonly unknown[] } {
  const whole = find(path);
  const dot = path.lastIndexOf(".");
  const parent = whole ?? (dot < 0 ? undefined : find(path.slice(0, dot)));
  if (parent === undefined) throw invalid(`has an unknown attribute ${path.slice(0, 80)}`);
  const values = [memberOf(object, parent.name)].flat().filter((value) => value !== undefined);
  const hasValue = entersValue && findSubAttribute(parent, "value") !== undefined;
  const name = whole === undefined ? path.slice(dot + 1) : hasValue ? "value" : undefined;
  if (name === undefined) return { attribute: parent, values };
  const attribute = findSubAttribute(parent, name);
  if (attribute === undefined) throw invalid(`has an unknown attribute ${path.slice(0, 80)}`);
  const inner = values.flatMap((value) =>
    isObject(value) ? (memberOf(value, attribute.name) ?? []) : [],
  );
  return { attribute, values: inner };
}

function compares(
  { caseExact, type }: Attribute,
  value: unknown,
  operator: Operator,
  expected: unknown,
): boolean {
  if (typeof value !== "string" || typeof expected !== "string") {
    return operator === "eq" && String(value) === String(expected).toLowerCase();
  }
  const fold = (text: string) => (caseExact ? text : text.toLowerCase());
  const isTime = type === "dateTime";
  const one = isTime ? Date.parse(value) : fold(value);
  const other = isTime ? Date.parse(expected) : fold(expected);
  switch (operator) {
    case "co":
      return fold(value).includes(fold(expected));
    case "sw":
      return fold(value).startsWith(fold(expected));
    case "ew":
      return fold(value).endsWith(fold(expected));
    case "gt":
      return one > other;
    case "ge":
      return one >= other;
    case "lt":
      return one < other;
    case "le":
      return one <= other;
    default:
      return one === other;
  }
}

/**
 * The value that a resource must have in an attribute to match, for a lookup by an index.
 *
 * @returns undefined when other values can match
 */
export function requiredValue(
  schema: ResourceSchema,
  filter: Filter,
  name: string,
): string | undefined {
  if (filter.kind === "and") {
    return requiredValue(schema, filter.left, name) ?? requiredValue(schema, filter.right, name);
  }
  if (filter.kind !== "compare" || filter.operator !== "eq") return undefined;
  const isNamed = withoutUrn(schema, filter.path).toLowerCase() === name.toLowerCase();
  return isNamed && typeof filter.value === "string" ? filter.value : undefined;
}
