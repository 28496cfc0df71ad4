/**
 * Rules about the text of files: line length, notes to oneself, silenced compilers, paths of one
 * machine, registry hosts, physical directions in CSS, and migration numbers.
 */

import { basename } from "node:path/posix";
import { isTest, type Violation } from "./source.ts";

const LINE_CHARS_MAX = 100;

/** Strings that cannot be broken: a URL, a test title with a requirement id, a single import. */
const URL_STRING = /^\s*["'`].*https?:\/\/.*["'`]\)*[,;]?$/;
const TEST_TITLE = /^\s*(?:await )?(?:\w+\.)?test\(["'`]\[/;
const ONE_IMPORT = /^import (type )?\{ [^,]* \} from "[^"]*";$/;

/** Biome's formatter breaks code; this rule covers comments and strings. */
export function lineLength(path: string, text: string): Violation[] {
  if (!isTypeScript(path)) return [];
  return text.split("\n").flatMap((line, index) => {
    if (line.length <= LINE_CHARS_MAX) return [];
    if (URL_STRING.test(line) || ONE_IMPORT.test(line)) return [];
    if (isTest(path) && TEST_TITLE.test(line)) return [];
    const message = `${line.length} characters; a line has at most ${LINE_CHARS_MAX}`;
    return [{ file: path, line: index + 1, message }];
  });
}

interface Pattern {
  readonly pattern: RegExp;
  readonly message: string;
}

/** The brackets keep this file from matching its own patterns. */
const MARKERS: readonly Pattern[] = [
  {
    pattern: /\b(TO[D]O|FIX[M]E|XX[X]|HAC[K])\b/g,
    message: "note to oneself: do it or plan it elsewhere",
  },
  { pattern: /@ts-no[c]heck\b/g, message: "silenced compiler: fix the type" },
];

export function noMarkers(path: string, text: string): Violation[] {
  return isTypeScript(path) ? matches(MARKERS, path, text) : [];
}

const PLACES: readonly Pattern[] = [
  { pattern: /(?<![\w.-])\/(work|farm|home)\/[\w.-]*/g, message: "path of one machine" },
  {
    pattern: /\bregistry\.[a-z0-9-]+(\.[a-z0-9-]+)*\.(com|org|net|io|dev)\b/g,
    message: "registry host",
  },
  {
    pattern: /\b(npm\.pkg\.github|pypi|proxy\.golang|index\.crates)\.(com|org|io)\b/g,
    message: "registry host",
  },
  { pattern: /\bregistry\s*=\s*["']?https?:\/\/\S+/g, message: "registry address" },
];

/** Lockfiles contain registry addresses. */
const LOCKFILES = ["package-lock.json"];

/** The repository is the same wherever it is cloned. */
export function noPlaces(path: string, text: string): Violation[] {
  return LOCKFILES.includes(basename(path)) ? [] : matches(PLACES, path, text);
}

const PHYSICAL: readonly Pattern[] = [
  {
    pattern: /(?<=[;{}]\s*|\*\/\s*|^\s*)(?:[\w-]+-)?(?:left|right)(?:-[\w-]+)?(?=\s*:)/g,
    message: "a property that right-to-left pages do not mirror; use its logical one",
  },
  {
    pattern: /(?<=\b(?:text-align|float|clear)\s*:\s*)(?:left|right)\b/g,
    message: "a value that right-to-left pages do not mirror; use its logical one",
  },
];

/** Pages in a right-to-left language mirror logical properties, such as `margin-inline-start`. */
export function logicalProperties(path: string, text: string): Violation[] {
  return path.endsWith(".css") ? matches(PHYSICAL, path, text) : [];
}

const MIGRATION = /^packages\/server\/src\/storage\/migrations\/(\d+)_[^/]*\.sql$/;

/** Two branches may each take the next number. Without this rule only a server start would fail. */
export function migrationNumbers(paths: Iterable<string>): Violation[] {
  const first = new Map<string, string>();
  const violations: Violation[] = [];
  for (const path of [...paths].sort()) {
    const number = MIGRATION.exec(path)?.[1];
    if (number === undefined) continue;
    const other = first.get(number);
    if (other === undefined) first.set(number, basename(path));
    else violations.push({ file: path, line: 1, message: `${other} has the same number` });
  }
  return violations;
}

function matches(patterns: readonly Pattern[], path: string, text: string): Violation[] {
  return patterns.flatMap(({ pattern, message }) =>
    [...text.matchAll(pattern)].map((match) => ({
      file: path,
      line: text.slice(0, match.index).split("\n").length,
      message: `${message}: ${match[0]}`,
    })),
  );
}

function isTypeScript(path: string): boolean {
  return /\.tsx?$/.test(path);
}
