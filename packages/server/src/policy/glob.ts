/**
 * Patterns for names: `*` is any run of characters, `?` is one code point, `\` takes the next
 * character as it is. The whole text must fit; upper and lower case differ.
 *
 * Called by: match.ts for tools and names, condition.ts for `glob(text, pattern)`.
 * Promises: the cost is bounded by text times pattern and nothing is ever tried twice over, so
 * no pattern of a stranger can hold the process; never throws on a compiled pattern.
 */

/** A pattern that was read: literal pieces between the stars. */
export interface Glob {
  readonly source: string;
  /** The text, when the pattern has no wildcard. */
  readonly literal: string | undefined;
  /** Whether every text fits: the pattern is stars only. */
  readonly everything: boolean;
  readonly pieces: readonly GlobPiece[];
}
/** Code points between two stars; `null` stands for any one. */
export type GlobPiece = readonly (number | null)[];
