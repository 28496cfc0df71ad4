/**
 * Values of a call as words of its line. A value that could be read as a part of the line is
 * quoted, and what is left out is counted. Pure.
 */

import { JsonNumber, type JsonValue } from "@countersign/protocol";

const WORD_CHARS_MAX = 100;

/** Without spaces, quotes and brackets. */
const PLAIN = /^[\p{L}\p{N}._@:/+~$%&=?#*-]+$/u;

export function word(text: string): string {
  const { head, rest } = cut(text, WORD_CHARS_MAX);
  const shown = PLAIN.test(head) ? head : JSON.stringify(head);
  return rest === 0 ? shown : `${shown}… (${counted(rest, "more character")})`;
}

export function quoted(text: string): string {
  const { head, rest } = cut(text, WORD_CHARS_MAX);
  const shown = JSON.stringify(head);
  return rest === 0 ? shown : `${shown}… (${counted(rest, "more character")})`;
}

/** @returns undefined for a list or an object */
export function scalarWord(value: JsonValue | undefined): string | undefined {
  if (typeof value === "string") return value === "" ? '""' : word(value);
  if (value instanceof JsonNumber) return word(value.source);
  if (value === null || typeof value === "boolean") return String(value);
  return undefined;
}

/** Cuts between characters. */
export function cut(text: string, charsMax: number): { head: string; rest: number } {
  const head = [...text.slice(0, 2 * charsMax)].slice(0, charsMax).join("");
  return { head, rest: text.length - head.length };
}

export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
