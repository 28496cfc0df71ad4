/**
 * Renderers as data: a template such as `Refund {amount} {currency} to {customer.id}`. A template
 * applies only to a call that has a text, a number, true or false at each path. Pure.
 */

import { JsonObject, type JsonValue } from "@countersign/protocol";
import type { Call } from "./call.ts";
import type { Rendered } from "./call-line.ts";
import { scalarWord } from "./call-words.ts";

/** Literal texts, and paths of members. */
export type LineTemplate = readonly (string | readonly string[])[];

const PATH = /^[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*$/;

export const TEMPLATE_CHARS_MAX = 200;

/** @returns the fault as a text, as the end of a sentence that starts with the template */
export function readTemplate(source: string): LineTemplate | { readonly fault: string } {
  if (source.trim() === "") return { fault: "is empty" };
  if (source.length > TEMPLATE_CHARS_MAX) {
    return { fault: `is longer than ${TEMPLATE_CHARS_MAX} characters` };
  }
  const parts = source.split(/(\{[^{}]*\})/);
  const template: (string | readonly string[])[] = [];
  for (const part of parts) {
    const path = /^\{(.*)\}$/s.exec(part)?.[1];
    if (path === undefined) {
      if (/[{}\n]/.test(part)) return { fault: "has a brace without its pair, or a line break" };
      if (part !== "") template.push(part);
    } else if (PATH.test(path)) template.push(path.split("."));
    else return { fault: `has {${path}}, which is not a path such as {customer.id}` };
  }
  return template.some((part) => typeof part !== "string")
    ? template
    : { fault: "names no argument, such as {amount}" };
}

export function templateLine(template: LineTemplate, { args }: Call): Rendered | undefined {
  let text = "";
  const used: string[] = [];
  for (const part of template) {
    if (typeof part === "string") {
      text += part;
      continue;
    }
    const value = scalarWord(valueAt(args, part));
    if (value === undefined) return undefined;
    text += value;
    // A member inside an object leaves its neighbours out.
    const [name = ""] = part;
    if (part.length === 1) used.push(name);
  }
  return { kind: "custom", text, used };
}

function valueAt(args: JsonObject, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = args;
  for (const name of path) {
    if (!(value instanceof JsonObject)) return undefined;
    value = value.members.get(name);
  }
  return value;
}
