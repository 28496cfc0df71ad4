/**
 * Members of answers that were read without loss.
 */

import { JsonArray, JsonNumber, JsonObject } from "@countersign/protocol";

/** A member of an answer; undefined when it is none. */
export function object(parent: JsonObject, name: string): JsonObject | undefined {
  const value = parent.members.get(name);
  return value instanceof JsonObject ? value : undefined;
}

/** A string, or a number as it was written. */
export function text(parent: JsonObject, name: string): string | undefined {
  const value = parent.members.get(name);
  if (value instanceof JsonNumber) return value.source;
  return typeof value === "string" ? value : undefined;
}

/** The strings of a list; none when there is no list. */
export function texts(parent: JsonObject, name: string): string[] {
  const list = parent.members.get(name);
  if (!(list instanceof JsonArray)) return [];
  return list.items.filter((item) => typeof item === "string");
}
