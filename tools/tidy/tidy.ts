/**
 * The rules that Biome cannot express: `node tools/tidy/tidy.ts [ROOT]` prints every violation as
 * `file:line: message` and exits 1 if there is one.
 */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { CONFIG_PAGE, ERRORS_PAGE, errorsDocumented, optionsDocumented } from "./doc-rules.ts";
import {
  calledOperations,
  featureDirections,
  featureFolders,
  importDirections,
  pureImports,
} from "./import-rules.ts";
import { statedPurpose } from "./purpose-rule.ts";
import { readRepository, typeScriptIn } from "./repository.ts";
import { parseSources, type Source, type Violation } from "./source.ts";
import {
  lineLength,
  logicalProperties,
  migrationNumbers,
  noMarkers,
  noPlaces,
} from "./text-rules.ts";
import { translations } from "./translation-rule.ts";

type Rule = (source: Source) => readonly Violation[];

const RULES: readonly Rule[] = [
  (source) => source.faults,
  importDirections,
  featureDirections,
  pureImports,
  statedPurpose,
];

type TextRule = (path: string, text: string) => readonly Violation[];

const TEXT_RULES: readonly TextRule[] = [lineLength, noMarkers, noPlaces, logicalProperties];

const PROBLEMS_FILE = "packages/protocol/src/problems.ts";
const OPTIONS_FILE = "packages/server/src/config/options.ts";

/** Every broken rule of the repository, by file and line. */
export async function tidy(root: string): Promise<Violation[]> {
  const texts = readRepository(root);
  const violations: Violation[] = [];
  const sources = parseSources(typeScriptIn(texts));
  for (const source of sources) {
    for (const rule of RULES) violations.push(...rule(source));
  }
  violations.push(...calledOperations(sources));
  violations.push(...translations(sources, texts));
  for (const [path, text] of texts) {
    for (const rule of TEXT_RULES) violations.push(...rule(path, text));
  }
  violations.push(...migrationNumbers(texts.keys()));
  violations.push(...featureFolders(texts.keys()));
  violations.push(...(await documentation(root, texts)));
  return violations.sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
}

export function print({ file, line, message }: Violation): string {
  return `${file}:${line}: ${message}`;
}

/** A table that is not written yet has nothing to document. */
async function documentation(
  root: string,
  texts: ReadonlyMap<string, string>,
): Promise<Violation[]> {
  const violations: Violation[] = [];
  const problems = await exported(join(root, PROBLEMS_FILE), "PROBLEMS");
  if (isRecord(problems)) {
    violations.push(...errorsDocumented(Object.keys(problems), texts.get(ERRORS_PAGE)));
  }
  const options = await exported(join(root, OPTIONS_FILE), "OPTIONS");
  if (Array.isArray(options)) {
    violations.push(...optionsDocumented(options.map(nameOf), texts.get(CONFIG_PAGE)));
  }
  return violations;
}

/** @returns undefined when there is no such file */
async function exported(file: string, name: string): Promise<unknown> {
  if (!existsSync(file)) return undefined;
  const module: unknown = await import(pathToFileURL(file).href);
  if (!isRecord(module) || module[name] === undefined) throw new Error(`${file}: no ${name}`);
  return module[name];
}

function nameOf(option: unknown): string {
  const { name } = isRecord(option) ? option : {};
  if (typeof name !== "string") throw new Error(`${OPTIONS_FILE}: an option without a name`);
  return name;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

if (import.meta.main) {
  const [root = resolve(import.meta.dirname, "../..")] = process.argv.slice(2);
  const violations = await tidy(resolve(root));
  for (const violation of violations) console.log(print(violation));
  process.exitCode = violations.length === 0 ? 0 : 1;
}
