/**
 * Members of answers that were read without loss.
 */

import { JsonNumber, JsonObject } from "@countersign/protocol";

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
