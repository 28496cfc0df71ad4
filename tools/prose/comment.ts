/**
 * The prose of comments: paragraphs, list items and the texts of JSDoc tags.
 */

import { maskCode, maskInlineCode, maskMarkup, type Passage } from "./passage.ts";

/** Offsets in the file: from the first character of a comment to behind its last. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** A comment that is one line goes on in the next line if that is a comment too. */
export function readLineComments(text: string, comments: readonly Range[]): Passage[] {
  const joined: Range[] = [];
  for (const comment of comments) {
    const last = joined.at(-1);
    if (last && /^[ \t]*\n[ \t]*$/.test(text.slice(last.end, comment.start))) {
      joined.splice(-1, 1, { start: last.start, end: comment.end });
    } else {
      joined.push(comment);
    }
  }
  return joined.flatMap(({ start, end }) => {
    const masked = text.slice(start, end).replaceAll(/^[ \t]*(?:\/\/+|#+!?)/gm, maskFrame);
    return readParagraphs(start, masked);
  });
}

export function readBlockComment(text: string, { start, end }: Range): Passage[] {
  const masked = text
    .slice(start, end)
    .replace(/^\/\*+!?/, maskFrame)
    .replace(/\*+\/$/, maskMarkup)
    .replaceAll(/^[ \t]*\*/gm, maskFrame);
  return readParagraphs(start, masked);
}

/** Tabs, so that the indentation behind the frame of a comment is that of its text. */
function maskFrame(frame: string): string {
  return "\t".repeat(frame.length);
}

/** A blank line, a list item and a tag each begin a paragraph. */
const PARAGRAPH_BREAK = /\n(?=[ \t]*(?:\n|(?:[-*+|@]|\d+\.)(?=[ \t\w])))/;
const LIST_MARKER = /^\s*(?:[-*+]|\d+\.)(?=\s)/;
/** A tag with its type and the name of its parameter is the subject of its text. */
const TAG = /(?<=^\s*)@(?:(?:param|property|template)\s+(?:\{[^}]*\}\s+)?\S+|\w+)(?=\s)/;
/** Commands, tool directives and code are indented, or end like a statement. */
const CODE_LINE = /^\t* {4,}.*$|^.*(?:[;{}]|=>)[ \t]*$|^[ \t]*(?:biome-ignore|@ts-|[\w]+\().*$/gm;

function readParagraphs(offset: number, text: string): Passage[] {
  const passages: Passage[] = [];
  let start = offset;
  for (const paragraph of text.split(PARAGRAPH_BREAK)) {
    const masked = paragraph
      .replaceAll(CODE_LINE, maskCode)
      .replace(LIST_MARKER, maskMarkup)
      .replace(TAG, maskCode);
    passages.push({ kind: "comment", offset: start, text: maskInlineCode(masked) });
    start += paragraph.length + 1;
  }
  return passages;
}
