/**
 * Small texts to try a rule on.
 */

import { parseSource, type Source, type Violation } from "./source.ts";

type Rule = (source: Source) => readonly Violation[];

/** The violations of a rule in a text, as `line: message`. */
export function judge(rule: Rule, path: string, text: string): string[] {
  return rule(parseSource(path, text)).map(({ line, message }) => `${line}: ${message}`);
}

/** A path in the server's sources. */
export function serverPath(path: string): string {
  return `packages/server/src/${path}`;
}
