/**
 * The prose of YAML: the values of keys that describe something, as Markdown, and comments.
 */

import { isScalar, Lexer, parseAllDocuments, visit } from "yaml";
import { type Range, readLineComments } from "./comment.ts";
import { maskMarkup, type Passage } from "./passage.ts";
import { readMarkdown } from "./read-markdown.ts";

/** Keys of a text for people, in OpenAPI, workflows, alerts, requirements and policies. */
const PROSE_KEYS = new Set(["about", "description", "note", "summary", "text", "title"]);

export function readYaml(text: string): Passage[] {
  return [...readValues(text), ...readLineComments(text, commentsIn(text))];
}

function readValues(text: string): Passage[] {
  const passages: Passage[] = [];
  const documents = parseAllDocuments(text);
  if (!Array.isArray(documents)) return passages;
  for (const document of documents) {
    visit(document, {
      Pair(_, { key, value }) {
        if (!isScalar(key) || !PROSE_KEYS.has(String(key.value))) return;
        if (!isScalar(value) || typeof value.value !== "string" || !value.range) return;
        const [start, end] = value.range;
        passages.push(...readScalar(start, text.slice(start, end)));
      },
    });
  }
  return passages;
}

function readScalar(start: number, scalar: string): Passage[] {
  const content = scalar
    .replace(/^[|>][-+0-9]*[^\n]*/, maskMarkup)
    .replace(/^(["'])([\s\S]*)\1$/, (_, __, quoted: string) => ` ${quoted} `);
  return readMarkdown(content, { indentedCode: false }).map((passage) => ({
    ...passage,
    offset: start + passage.offset,
  }));
}

/** The lexer also emits control characters, which mark documents and scalars. */
const CONTROLS = new Set(["\u0002", "\u0018", "\u001f"]);

function commentsIn(text: string): Range[] {
  const comments: Range[] = [];
  let start = 0;
  for (const token of new Lexer().lex(text)) {
    if (CONTROLS.has(token)) continue;
    const end = start + token.length;
    if (token.startsWith("#")) comments.push({ start, end });
    start = end;
  }
  return comments;
}
