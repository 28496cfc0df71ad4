/**
 * Every rule of the contract, and every promise beyond it, has a test that cites its id:
 *
 *   test("[request.cancel.terminal] cancelling a denied request changes nothing", ...)
 *
 * This holds the table in contract/requirements.yaml against the names of the tests. Run by
 * itself, `node tools/requirements/coverage.ts` prints what is missing and exits 1.
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
import { readRepository } from "../tidy/repository.ts";
import { lineOf, literalText, parseSources, type Source } from "../tidy/source.ts";

export interface Requirement {
  readonly id: string;
  /** The section of the contract, or the subject of the promise. */
  readonly source: string;
  /** Asynchronous ones concern webhook delivery alone. */
  readonly mode: "synchronous" | "asynchronous";
  /** The version of the contract, or of this provider, that brought it. */
  readonly since: string;
  readonly text: string;
}

/** A test that says it proves a requirement. */
export interface Citation {
  readonly id: string;
  readonly file: string;
  readonly line: number;
}

const TABLE = "contract/requirements.yaml";
const ID = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)*$/;
const PROMISE = "ours.";

/**
 * Both sections of the table, in its order.
 *
 * @throws Error naming the first entry that is not what it should be
 */
export function readRequirements(yaml: string): Requirement[] {
  const table: unknown = parse(yaml);
  const sections = isRecord(table) ? table : {};
  const read = (section: string): Requirement[] => {
    const entries = sections[section];
    if (!Array.isArray(entries)) throw new Error(`${TABLE}: no list of ${section}`);
    return entries.map(readRequirement);
  };
  const requirements = read("requirements");
  const promises = read("promises");
  const stray =
    requirements.find(({ id }) => id.startsWith(PROMISE)) ??
    promises.find(({ id }) => !id.startsWith(PROMISE));
  if (stray !== undefined) throw new Error(`${TABLE}: ${stray.id} is in the wrong section`);
  return [...requirements, ...promises];
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

/** What no test cites. */
export function uncovered(
  requirements: readonly Requirement[],
  citations: readonly Citation[],
): Requirement[] {
  const cited = new Set(citations.map(({ id }) => id));
  return requirements.filter(({ id }) => !cited.has(id));
}

/** Citations of what is not in the table. */
export function unknown(
  requirements: readonly Requirement[],
  citations: readonly Citation[],
): Citation[] {
  const known = new Set(requirements.map(({ id }) => id));
  return citations.filter(({ id }) => !known.has(id));
}

/** Ids that the table holds more than once. */
export function repeated(requirements: readonly Requirement[]): string[] {
  const ids = requirements.map(({ id }) => id);
  return [...new Set(ids.filter((id, index) => ids.indexOf(id) !== index))];
}

/** The table and the citations of a checkout. */
export function readCheckout(root: string): {
  readonly requirements: Requirement[];
  readonly citations: Citation[];
} {
  const requirements = readRequirements(readFileSync(join(root, TABLE), "utf8"));
  const tests = [...readRepository(root)].filter(([path]) => {
    return /^(packages|tools)\/.*\.test\.tsx?$/.test(path);
  });
  return { requirements, citations: readCitations(parseSources(new Map(tests))) };
}

function readRequirement(entry: unknown): Requirement {
  const { id, source, mode, since, text, ...rest } = isRecord(entry) ? entry : {};
  if (typeof id !== "string" || !ID.test(id)) throw new Error(`${TABLE}: wrong id ${id}`);
  if (!isText(source) || !isText(since) || !isText(text) || Object.keys(rest).length > 0) {
    throw new Error(`${TABLE}: ${id} has not the fields id, source, mode, since and text`);
  }
  if (mode !== "synchronous" && mode !== "asynchronous") {
    throw new Error(`${TABLE}: ${id} has no mode`);
  }
  return { id, source, mode, since, text: text.trim() };
}

/**
 * The name of a test, or what of it stands before the first hole of a template. A test is a
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
    ...repeated(requirements).map((id) => `${TABLE}: ${id} is there twice`),
    ...unknown(requirements, citations).map(({ id, file, line }) => {
      return `${file}:${line}: cites ${id}, which is not in ${TABLE}`;
    }),
    ...uncovered(requirements, citations).map(({ id, text }) => `no test for [${id}] ${text}`),
  ];
  for (const line of lines) console.log(line);
  process.exitCode = lines.length === 0 ? 0 : 1;
}
