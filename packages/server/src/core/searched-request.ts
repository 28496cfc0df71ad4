/** The texts of a request that a search covers: what the history and the request show. Pure. */

import type { JsonText, StoredRequest } from "./request.ts";
import {
  type ExcerptPiece,
  excerptOf,
  findTerms,
  readableJson,
  type SearchTerm,
} from "./search-words.ts";

export type SearchField = "tool" | "arguments" | "note" | "person";

/** The reviewers who decided or approved, with their notes. */
export interface SearchedPeople {
  readonly names: readonly string[];
  readonly notes: readonly (JsonText | null)[];
}

export interface SearchedText {
  readonly field: SearchField;
  readonly text: string;
}

/** Ids are not part of them: for `confirm: match`, the console does not show a complete id. */
export function searchedTexts(
  { tool, server, arguments: source, decision }: StoredRequest,
  { names, notes }: SearchedPeople,
): SearchedText[] {
  const tools = [tool, server].flatMap((name) => toText(name));
  const allNotes = [decision?.note ?? null, ...notes].flatMap((note) => toText(note));
  return [
    ...tools.map((text) => ({ field: "tool", text }) as const),
    { field: "arguments", text: readableJson(source) },
    ...allNotes.map((text) => ({ field: "note", text }) as const),
    ...names.map((text) => ({ field: "person", text }) as const),
  ];
}

function toText(json: JsonText | null): string[] {
  return json === null ? [] : [JSON.parse(json) as string];
}

export interface FieldMatch {
  readonly field: SearchField;
  readonly excerpt: readonly ExcerptPiece[];
}

/** Where the texts match; undefined unless each term is in one of them. */
export function matchTexts(
  terms: readonly SearchTerm[],
  texts: readonly SearchedText[],
): FieldMatch[] | undefined {
  const found = texts.map(({ field, text }) => ({ field, text, ranges: findTerms(terms, text) }));
  const isEach = terms.every((_, i) => found.some(({ ranges }) => (ranges[i]?.length ?? 0) > 0));
  if (!isEach) return undefined;
  return found.flatMap(({ field, text, ranges }) => {
    const all = ranges.flat();
    return all.length === 0 ? [] : [{ field, excerpt: excerptOf(text, all) }];
  });
}
