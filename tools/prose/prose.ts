/**
 * `npm run prose` checks the words and sentences of the repository:
 *
 *   npm run prose                                every finding, grouped by rule
 *   npm run prose -- packages/cli docs/guides    those of some files or folders
 *   npm run prose -- --count                     numbers per rule and folder
 */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { parse } from "yaml";
import { readRepository } from "../tidy/repository.ts";
import { parseSources } from "../tidy/source.ts";
import type { Passage } from "./passage.ts";
import { readHtml } from "./read-html.ts";
import { readMarkdown } from "./read-markdown.ts";
import { readTypeScript } from "./read-typescript.ts";
import { readYaml } from "./read-yaml.ts";
import { compileGlossary, type Finding, type Glossary, readGlossary } from "./rules.ts";

export interface Place extends Finding {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Words that one file may contain against the rules. */
export interface Exception {
  readonly file: string;
  readonly words: string;
  readonly reason: string;
}

const EXCEPTIONS_MAX = 19;
export const ALLOWLIST_PATH = `${import.meta.dirname}/allowlist.yaml`;

/** @param texts by path from the root of the repository */
export function findProse(texts: ReadonlyMap<string, string>, glossary: Glossary): Place[] {
  const check = compileGlossary(glossary);
  const places: Place[] = [];
  for (const [file, passages] of readPassages(texts)) {
    const text = texts.get(file) ?? "";
    for (const passage of passages) {
      for (const finding of check(passage)) {
        places.push({ ...finding, file, ...positionOf(text, finding.offset) });
      }
    }
  }
  return places.sort((a, b) => a.file.localeCompare(b.file) || a.offset - b.offset);
}

function* readPassages(texts: ReadonlyMap<string, string>): Generator<[string, Passage[]]> {
  const programs = new Map<string, string>();
  for (const [path, text] of texts) {
    if (/\.m?[jt]sx?$/.test(path)) programs.set(path, text);
    else if (path.endsWith(".md")) yield [path, readMarkdown(text)];
    else if (/\.ya?ml$/.test(path)) yield [path, readYaml(text)];
    else if (path.endsWith(".html")) yield [path, readHtml(text)];
  }
  for (const source of parseSources(programs)) yield [source.path, readTypeScript(source)];
}

function positionOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}

/** Findings that no exception covers, and what is wrong with the exceptions. */
export function applyExceptions(
  places: readonly Place[],
  exceptions: readonly Exception[],
): { findings: Place[]; faults: string[] } {
  const covers = ({ file, words }: Exception, place: Place): boolean =>
    place.file === file && place.words.toLowerCase() === words.toLowerCase();
  const faults = exceptions
    .filter((exception) => !places.some((place) => covers(exception, place)))
    .map(({ file, words }) => `allowlist.yaml: remove the unused entry "${words}" in ${file}`);
  if (exceptions.length > EXCEPTIONS_MAX) {
    faults.push(`allowlist.yaml: ${exceptions.length} entries, at most ${EXCEPTIONS_MAX}`);
  }
  const findings = places.filter((place) => !exceptions.some((one) => covers(one, place)));
  return { findings, faults };
}

export function print({ file, line, column, words, write }: Place): string {
  return `${file}:${line}:${column}  "${words}"  ${write}`;
}

function groupBy<T>(items: readonly T[], key: (item: T) => string): [string, T[]][] {
  return [...Map.groupBy(items, key)].sort(([, a], [, b]) => b.length - a.length);
}

function printFindings(findings: readonly Place[]): void {
  for (const [rule, places] of groupBy(findings, (place) => place.rule)) {
    console.log(`\n${rule} (${places.length})`);
    for (const place of places) console.log(print(place));
  }
}

function printCounts(findings: readonly Place[]): void {
  for (const [rule, places] of groupBy(findings, (place) => place.rule)) {
    const folders = groupBy(places, ({ file }) => folderOf(file));
    const counts = folders.map(([folder, { length }]) => `${folder} ${length}`);
    console.log(`${rule.padEnd(18)} ${String(places.length).padStart(5)}  ${counts.join(", ")}`);
  }
  console.log("");
  for (const [folder, { length }] of groupBy(findings, ({ file }) => folderOf(file))) {
    console.log(`${folder.padEnd(28)} ${String(length).padStart(5)}`);
  }
}

/** Two folders, because most are in packages/ and docs/. */
function folderOf(file: string): string {
  const folders = file.split("/").slice(0, -1);
  const depth = folders[0] === "packages" ? 3 : 2;
  return folders.slice(0, depth).join("/") || ".";
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { count: { type: "boolean" } },
  });
  const root = resolve(import.meta.dirname, "../..");
  const wanted = positionals.map((path) => path.replace(/^\.\//, "").replace(/\/$/, ""));
  const isWanted = (file: string): boolean =>
    wanted.length === 0 || wanted.some((path) => file === path || file.startsWith(`${path}/`));
  const texts = new Map([...readRepository(root)].filter(([file]) => isWanted(file)));
  const allowlist: Exception[] = parse(readFileSync(ALLOWLIST_PATH, "utf8"));
  const exceptions = allowlist.filter(({ file }) => wanted.length === 0 || texts.has(file));
  const { findings, faults } = applyExceptions(findProse(texts, readGlossary()), exceptions);
  if (values.count) printCounts(findings);
  else printFindings(findings);
  for (const fault of faults) console.log(fault);
  console.log(`\n${findings.length} findings in ${texts.size} files`);
  process.exitCode = findings.length + faults.length === 0 ? 0 : 1;
}
