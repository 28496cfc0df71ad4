/**
 * Tool definitions of a server. The digest identifies a definition, so that a reviewer, the audit
 * log and a pin can show whether a tool has changed ("rug pull").
 */

import { createHash } from "node:crypto";
import { JsonArray, JsonObject, type JsonValue } from "@countersign/protocol";
import { sourceOf, textIn } from "./exact-message.ts";

/** Digests by the name of the tool. */
export type Definitions = ReadonlyMap<string, string>;

/** The digest of a definition with the keys of its objects in order. */
export function digestOf(definition: JsonObject): string {
  return digestOfText(ordered(definition));
}

/** @param text the `text` of a {@link ListedTool} */
export function digestOfText(text: string): string {
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

/** Servers may write the same definition in another order each time they start. */
function ordered(value: JsonValue): string {
  if (value instanceof JsonArray) return `[${value.items.map(ordered).join(",")}]`;
  if (!(value instanceof JsonObject)) return sourceOf(value);
  const keys = [...value.members.keys()].sort();
  const written = keys.map((key) => {
    return `${JSON.stringify(key)}:${ordered(value.members.get(key) as JsonValue)}`;
  });
  return `{${written.join(",")}}`;
}

export interface ListedTool {
  readonly name: string;
  /** The definition as JSON with the keys of its objects in order. */
  readonly text: string;
  /** `sha256:` and the digest of `text`. */
  readonly digest: string;
  readonly definition: JsonObject;
}

/** Tools that have a name; what is listed twice is there once, as the first. */
export function listedTools(definitions: readonly JsonObject[]): ListedTool[] {
  const listed = new Map<string, ListedTool>();
  for (const definition of definitions) {
    const name = textIn(definition, "name");
    if (name === undefined || listed.has(name)) continue;
    const text = ordered(definition);
    listed.set(name, { name, text, digest: digestOfText(text), definition });
  }
  return [...listed.values()];
}
