/**
 * Patterns for names: `*` is any run of characters, `?` is one code point, `\` takes the next
 * character as it is. The whole text must fit; upper and lower case differ.
 *
 * Promises: nothing is tried twice over; what a piece with `?` costs beyond one walk of the text is
 * spent from the meter, so that no pattern can hold the process.
 */

import { indexWithin } from "./linear-search.ts";
import type { Meter } from "./meter.ts";

/** A pattern that was read: pieces of text between the stars. */
export interface Glob {
  readonly source: string;
  /** The text, when the pattern has no wildcard. */
  readonly literal: string | undefined;
  /** Whether every text fits, or all but short ones: the pattern has wildcards only. */
  readonly everything: boolean;
  /** One piece more than there are stars. */
  readonly pieces: readonly Piece[];
}

/** Text between two stars. */
interface Piece {
  /** null stands for any one code point. */
  readonly points: readonly (string | null)[];
  /** The same as text, when no `?` is in it. */
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
    // A run of stars is one star.
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

/** Whether the whole text fits. */
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

/** Where the piece ends that begins at `at`; -1: it does not fit there. */
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

/** Where the leftmost such piece from `from` on ends; -1: there is none. */
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

/** Whether the text ends in the piece, and the piece begins no earlier than `from`. */
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
