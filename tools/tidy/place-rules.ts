/**
 * The repository is the same wherever it is cloned: no path of one machine and no registry is
 * named in it. Lockfiles hold registry addresses by their nature.
 */

import { basename } from "node:path/posix";
import type { Violation } from "./source.ts";

const LOCKFILES = ["package-lock.json"];

const PLACES: readonly { readonly pattern: RegExp; readonly message: string }[] = [
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

export function noPlaces(path: string, text: string): Violation[] {
  if (LOCKFILES.includes(basename(path))) return [];
  const violations: Violation[] = [];
  for (const { pattern, message } of PLACES) {
    for (const match of text.matchAll(pattern)) {
      const line = text.slice(0, match.index).split("\n").length;
      violations.push({ file: path, line, message: `${message}: ${match[0]}` });
    }
  }
  return violations;
}
