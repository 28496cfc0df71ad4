/**
 * Proves that one `match` applies to every call of another one.
 *
 * The proof holds for every pair of verbs whose outer rule denies or asks: such a rule matches a
 * call by each of its possible names, and any other rule by some of these names.
 */

import { type Glob, literalPrefix, matchesGlob } from "./glob.ts";
import { Meter } from "./meter.ts";
import type { Match } from "./rule.ts";

/** More than a pattern and a text of the longest permitted size need. */
const STEPS_MAX = 100_000;

/** True only when `outer` certainly applies to every call that `inner` applies to. */
export function coversMatch(outer: Match, inner: Match): boolean {
  return (
    coversGlobs(outer.tools, inner.tools) &&
    coversGlobs(outer.servers, inner.servers, { servers: true }) &&
    coversNames(outer.groups, inner.groups) &&
    coversNames(outer.instanceIds, inner.instanceIds) &&
    coversGlobs(outer.instanceNames, inner.instanceNames)
  );
}

/** @param options servers: a call can be without a server, which no pattern matches */
function coversGlobs(
  outer: readonly Glob[] | undefined,
  inner: readonly Glob[] | undefined,
  { servers = false } = {},
): boolean {
  if (outer === undefined) return true;
  if (inner === undefined) return !servers && outer.some(isStar);
  return inner.every((one) => outer.some((other) => coversGlob(other, one)));
}

function coversNames(
  outer: ReadonlySet<string> | undefined,
  inner: ReadonlySet<string> | undefined,
): boolean {
  if (outer === undefined) return true;
  return inner !== undefined && [...inner].every((name) => outer.has(name));
}

/** True only when `outer` certainly matches every text that `inner` matches. */
export function coversGlob(outer: Glob, inner: Glob): boolean {
  if (outer.source === inner.source || isStar(outer)) return true;
  if (inner.literal !== undefined) return matches(outer, inner.literal);
  const [first, last] = outer.pieces;
  const isPrefix = outer.pieces.length === 2 && last?.points.length === 0;
  return isPrefix && first?.text !== undefined && literalPrefix(inner).startsWith(first.text);
}

function matches(glob: Glob, text: string): boolean {
  try {
    return matchesGlob(glob, text, new Meter(STEPS_MAX));
  } catch {
    return false;
  }
}

/** Stars only, which match every text. */
function isStar({ pieces }: Glob): boolean {
  return pieces.length > 1 && pieces.every(({ points }) => points.length === 0);
}
