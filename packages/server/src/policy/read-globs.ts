/** Parses patterns: one, or a list of them. */

import { GLOB_CHARS_MAX, type Glob, readGlob } from "./glob.ts";
import type { PolicyDocument, YamlLocation } from "./policy-document.ts";

export function readGlobs(
  document: PolicyDocument,
  location: YamlLocation | undefined,
): readonly Glob[] | undefined {
  if (location === undefined) return undefined;
  const globs: Glob[] = [];
  for (const item of document.oneOrMore(location) ?? []) {
    const text = document.text(item, GLOB_CHARS_MAX);
    if (text === undefined) continue;
    const glob = readGlob(text);
    if (glob === undefined) document.add(item, "the pattern ends in a lone backslash");
    else globs.push(glob);
  }
  return globs;
}
