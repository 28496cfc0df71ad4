/**
 * Conditions that calls like a given one fulfil: each argument is fixed to its value, or free.
 * Pure.
 */

import { memberSources } from "../../../exact/source.ts";
import { t } from "../../../language/t.ts";

export interface Term {
  readonly name: string;
  /** The exact text of the value. */
  readonly source: string;
  /** The value in CEL; undefined for a value that a condition cannot compare exactly. */
  readonly literal: string | undefined;
}

const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** The reserved words of CEL, which cannot follow a dot. */
const RESERVED: ReadonlySet<string> = new Set([
  "as",
  "break",
  "const",
  "continue",
  "else",
  "false",
  "for",
  "function",
  "if",
  "import",
  "in",
  "let",
  "loop",
  "namespace",
  "null",
  "package",
  "return",
  "true",
  "var",
  "void",
  "while",
]);
const INTEGER = /^-?\d+$/;
const INT64_MAX = 2n ** 63n - 1n;

/** @param argumentsText valid JSON */
export function termsOf(argumentsText: string): Term[] {
  if (!argumentsText.trimStart().startsWith("{")) return [];
  return memberSources(argumentsText).map(({ name, source }) => ({
    name,
    source,
    literal: literalOf(source),
  }));
}

/** A string as CEL and as YAML read it: only printable ASCII. */
function quote(text: string): string {
  const parts = Array.from(text, (letter) => {
    const code = letter.codePointAt(0) ?? 0;
    if (letter === '"' || letter === "\\") return `\\${letter}`;
    if (code >= 0x20 && code < 0x7f) return letter;
    return code > 0xffff
      ? `\\U${code.toString(16).padStart(8, "0")}`
      : `\\u${code.toString(16).padStart(4, "0")}`;
  });
  return `"${parts.join("")}"`;
}

function literalOf(source: string): string | undefined {
  if (source.startsWith('"')) {
    const text: string = JSON.parse(source);
    // A half of a character has no literal.
    return text.isWellFormed() ? quote(text) : undefined;
  }
  if (source === "true" || source === "false" || source === "null") return source;
  if (!INTEGER.test(source)) return undefined;
  const value = BigInt(source);
  return value >= -INT64_MAX && value <= INT64_MAX ? source : undefined;
}

function memberOf(name: string): string {
  return PLAIN_NAME.test(name) && !RESERVED.has(name) ? `args.${name}` : `args[${quote(name)}]`;
}

export interface Choice {
  readonly terms: readonly Term[];
  /** Names of the arguments that keep their value. */
  readonly fixed: ReadonlySet<string>;
}

function equalityOf({ name, literal }: Term): string {
  return `${memberOf(name)} == ${literal}`;
}

/** A condition in CEL that calls with further arguments do not fulfil: what it allows is closed. */
export function closedCondition(choice: Choice): string {
  const free = new Set(freeNames(choice));
  const parts = choice.terms.map((term) =>
    free.has(term.name) ? `${quote(term.name)} in args` : equalityOf(term),
  );
  return [`size(args) == ${choice.terms.length}`, ...parts].join(" && ");
}

/**
 * A condition in CEL that calls with further arguments fulfil as well: one more argument must not
 * get around a denial.
 *
 * @returns undefined when it would be true for every call
 */
export function openCondition(choice: Choice): string | undefined {
  const free = new Set(freeNames(choice));
  const parts = choice.terms.filter(({ name }) => !free.has(name)).map(equalityOf);
  return parts.length === 0 ? undefined : parts.join(" && ");
}

/** The arguments that may have any value. */
export function freeNames({ terms, fixed }: Choice): string[] {
  return terms
    .filter(({ name, literal }) => !fixed.has(name) || literal === undefined)
    .map(({ name }) => name);
}

/** "where currency is "GBP"; amount may have any value" */
export function describeChoice(choice: Choice): string {
  const free = freeNames(choice);
  const same = choice.terms
    .filter(({ name }) => !free.includes(name))
    .map(({ name, source }) => t`${name} is ${source}`);
  const parts = [
    same.length === 0 ? "" : t`where ${same.join(t` and `)}`,
    free.length === 0 ? "" : t`with any value of ${free.join(", ")}`,
  ];
  return parts.filter((part) => part !== "").join(", ") || t`without arguments`;
}
