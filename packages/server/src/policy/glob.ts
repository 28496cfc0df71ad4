/**
 * Patterns for names: `*` is any run of characters, `?` is one code point, `\` escapes the next
 * character. A pattern matches the complete text and is case-sensitive.
 *
 * Guarantees: no backtracking. A piece with `?` spends its extra cost from the meter, so no pattern
 * can block the process.
 */

import { indexWithin } from "./linear-search.ts";
import type { Meter } from "./meter.ts";

/** A parsed pattern: pieces of text between the stars. */
export interface Glob {
  readonly source: string;
  /** The text of a pattern without wildcards. */
  readonly literal: string | undefined;
  /**
   * True for patterns with wildcards only, which match every text or every text of a minimum
   * length.
   */
  readonly everything: boolean;
  /** One more piece than stars. */
  readonly pieces: readonly Piece[];
}

/** Text between two stars. */
interface Piece {
  /** null matches any one code point. */
  readonly points: readonly (string | null)[];
  /** The piece as a string if it contains no `?`. */
  readonly text: string | undefined;
}

export const GLOB_CHARS_MAX = 512;

/** @returns undefined when the pattern ends in a lone backslash or is too long */
export function readGlob(source: string): Glob | undefined {
  if (source.length > GLOB_CHARS_MAX) return undefined;
  const pieces: (string | null)[][] = [[]];
  let escaped = false;
  for (const point of source) {
    const piece = pieces.at(-1) ?? [];
    if (escaped) {
      piece.push(point);
      escaped = false;
    } else if (point === "\\") escaped = true;
    else if (point === "?") piece.push(null);
    // Several stars in a row equal one star.
    else if (point !== "*") piece.push(point);
    else if (pieces.length === 1 || piece.length > 0) pieces.push([]);
  }
  if (escaped) return undefined;
  const [only] = pieces;
  const isLiteral = pieces.length === 1 && only !== undefined && !only.includes(null);
  return {
    source,
    literal: isLiteral ? only.join("") : undefined,
    everything: pieces.length > 1 && pieces.every((piece) => piece.every((each) => each === null)),
    pieces: pieces.map(pieceOf),
  };
}

function pieceOf(points: readonly (string | null)[]): Piece {
  return { points, text: points.includes(null) ? undefined : points.join("") };
}

/** The text before the first wildcard. */
export function literalPrefix({ pieces }: Glob): string {
  const points = pieces[0]?.points ?? [];
  const end = points.indexOf(null);
  return points.slice(0, end === -1 ? undefined : end).join("");
}

/** True when the complete text matches. */
export function matchesGlob(glob: Glob, text: string, meter: Meter): boolean {
  if (glob.literal !== undefined) return glob.literal === text;
  meter.spend(1 + text.length / 16);
  const { pieces } = glob;
  const first = pieces[0];
  const last = pieces.at(-1);
  if (first === undefined || last === undefined) return text === "";
  let at = endOf(first, text, 0);
  if (at === -1) return false;
  if (pieces.length === 1) return at === text.length;
  for (let index = 1; index < pieces.length - 1; index++) {
    const piece = pieces[index];
    if (piece === undefined) continue;
    at = search(piece, text, at, meter);
    if (at === -1) return false;
  }
  return endsWith(last, text, at);
}

/** End of the match of a piece at `at`; -1: no match there. */
function endOf(piece: Piece, text: string, at: number): number {
  if (piece.text !== undefined) {
    return text.startsWith(piece.text, at) ? at + piece.text.length : -1;
  }
  for (const point of piece.points) {
    if (at >= text.length) return -1;
    if (point === null) at += pointLength(text, at);
    else if (text.startsWith(point, at)) at += point.length;
    else return -1;
  }
  return at;
}

/** End of the leftmost match of a piece from `from` on; -1: none. */
function search(piece: Piece, text: string, from: number, meter: Meter): number {
  if (piece.text !== undefined) {
    const found = indexWithin(text, piece.text, from);
    return found === -1 ? -1 : found + piece.text.length;
  }
  for (let at = from; at <= text.length; at += pointLength(text, at)) {
    meter.spend(1 + piece.points.length / 4);
    const end = endOf(piece, text, at);
    if (end !== -1) return end;
  }
  return -1;
}

/** True when the text ends with the piece, and the piece starts at or after `from`. */
function endsWith(piece: Piece, text: string, from: number): boolean {
  let at = text.length;
  for (let index = piece.points.length - 1; index >= 0; index--) {
    const point = piece.points[index] ?? null;
    at -= point === null ? lastPointLength(text, at) : point.length;
    if (at < from || (point !== null && !text.startsWith(point, at))) return false;
  }
  return true;
}

function pointLength(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

function lastPointLength(text: string, end: number): number {
  return end >= 2 && (text.codePointAt(end - 2) ?? 0) > 0xffff ? 2 : 1;
}
