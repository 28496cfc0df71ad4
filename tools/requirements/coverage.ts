/**
 * Every rule has a test that cites its id at the start of its title:
 *
 *   test("[request.cancel.terminal] cancelling a denied request changes nothing", ...)
 *
 * The rules of the contract are in packages/conformance/src/contract, the table of the kit.
 * The promises of this product beyond the contract are in product-requirements.yaml. Run by itself,
 * `node tools/requirements/coverage.ts` prints what is missing and exits 1.
 */

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  isCallExpression,
  isIdentifier,
  isPropertyAccessExpression,
  isTemplateExpression,
  type Node,
} from "typescript/unstable/ast";
import { parse } from "yaml";
import { REQUIREMENTS } from "../../packages/conformance/src/contract/index.ts";
import { readRepository } from "../tidy/repository.ts";
import { lineOf, literalText, parseSources, type Source } from "../tidy/source.ts";

export interface Requirement {
  readonly id: string;
  readonly text: string;
}

/** A test that cites a requirement. */
export interface Citation {
  readonly id: string;
  readonly file: string;
  readonly line: number;
}

const TABLE = "tools/requirements/product-requirements.yaml";
const ID = /^ours(\.[a-z0-9]+(-[a-z0-9]+)*)+$/;

/**
 * The product's own requirements, in the order of their file.
 *
 * @throws Error naming the first invalid entry
 */
export function readProductRequirements(yaml: string): Requirement[] {
  const table: unknown = parse(yaml);
  if (!isRecord(table) || !Array.isArray(table.requirements)) {
    throw new Error(`${TABLE}: no list of requirements`);
  }
  return table.requirements.map(readRequirement);
}

/** Every citation in the names of the tests, one for each id. */
export function readCitations(sources: readonly Source[]): Citation[] {
  return sources.flatMap((source) =>
    source.nodes.flatMap((node) => {
      const prefix = /^(\[[^\]]*\]\s*)+/.exec(testName(node) ?? "")?.[0] ?? "";
      return [...prefix.matchAll(/\[([^\]]*)\]/g)].map((match) => ({
        id: match[1] ?? "",
        file: source.path,
        line: lineOf(source, node),
      }));
    }),
  );
}

/** Requirements that no test cites. */
export function uncovered(
  requirements: readonly Requirement[],
  citations: readonly Citation[],
): Requirement[] {
  const cited = new Set(citations.map(({ id }) => id));
  return requirements.filter(({ id }) => !cited.has(id));
}

/** Citations of unknown ids. */
export function unknown(
  requirements: readonly Requirement[],
  citations: readonly Citation[],
): Citation[] {
  const known = new Set(requirements.map(({ id }) => id));
  return citations.filter(({ id }) => !known.has(id));
}

/** Ids that are listed more than once. */
export function repeated(requirements: readonly Requirement[]): string[] {
  const ids = requirements.map(({ id }) => id);
  return [...new Set(ids.filter((id, index) => ids.indexOf(id) !== index))];
}

/** The rules of the contract, the product's own requirements, and the citations of a checkout. */
export function readCheckout(root: string): {
  readonly requirements: Requirement[];
  readonly citations: Citation[];
} {
  const product = readProductRequirements(readFileSync(join(root, TABLE), "utf8"));
  // Shared rules are in the folders `test/support`.
  const tests = [...readRepository(root)].filter(([path]) => {
    return /^(packages|tools)\/.*(\.test\.tsx?|\/test\/support\/.*\.ts)$/.test(path);
  });
  const citations = readCitations(parseSources(new Map(tests)));
  return { requirements: [...REQUIREMENTS, ...product], citations };
}

function readRequirement(entry: unknown): Requirement {
  const { id, source, since, text, ...rest } = isRecord(entry) ? entry : {};
  if (typeof id !== "string" || !ID.test(id)) throw new Error(`${TABLE}: wrong id ${id}`);
  if (!isText(source) || !isText(since) || !isText(text) || Object.keys(rest).length > 0) {
    throw new Error(`${TABLE}: ${id} does not have exactly the fields id, source, since and text`);
  }
  return { id, text: text.trim() };
}

/**
 * The name of a test, or its text before the first hole of a template. A test is a
 * call of `test` or `it`, of a member of that name, or of a helper called like `testOnEveryStore`.
 */
function testName(node: Node): string | undefined {
  if (!isCallExpression(node)) return undefined;
  const callee = isPropertyAccessExpression(node.expression)
    ? node.expression.name
    : node.expression;
  if (!isIdentifier(callee) || !/^(it|test([A-Z]\w*)?)$/.test(callee.text)) return undefined;
  const [name] = node.arguments;
  if (name !== undefined && isTemplateExpression(name)) return name.head.text;
  return literalText(name);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

if (import.meta.main) {
  const { requirements, citations } = readCheckout(resolve(import.meta.dirname, "../.."));
  const lines = [
    ...repeated(requirements).map((id) => `${id} is listed twice`),
    ...unknown(requirements, citations).map(({ id, file, line }) => {
      return `${file}:${line}: cites the unknown id ${id}`;
    }),
    ...uncovered(requirements, citations).map(({ id, text }) => `no test for [${id}] ${text}`),
  ];
  for (const line of lines) console.log(line);
  process.exitCode = lines.length === 0 ? 0 : 1;
}
