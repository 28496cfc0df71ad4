/**
 * Differences between the arguments of two calls, path by path and by exact text: `1.0` and `1.00`
 * differ. Pure.
 */

import { JsonArray, JsonNumber, JsonObject, type JsonValue } from "@countersign/protocol";
import { joinPath } from "@countersign/review-api/calls";

export interface Difference {
  /** Like `to[0].amount`; empty for the whole. */
  readonly path: string;
  /** The JSON text before; undefined where there was nothing. */
  readonly before: string | undefined;
  /** The JSON text now; undefined where there is nothing any more. */
  readonly after: string | undefined;
}

/** In the order of the newer call, with what it lacks behind. */
export function pathDiff(before: JsonValue, after: JsonValue): Difference[] {
  const found: Difference[] = [];
  compare("", before, after, found);
  return found;
}

function compare(
  path: string,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  found: Difference[],
): void {
  if (before instanceof JsonObject && after instanceof JsonObject) {
    const keys = new Set([...after.members.keys(), ...before.members.keys()]);
    for (const key of keys) {
      compare(joinPath(path, key), before.members.get(key), after.members.get(key), found);
    }
    return;
  }
  if (before instanceof JsonArray && after instanceof JsonArray) {
    const length = Math.max(before.items.length, after.items.length);
    for (let index = 0; index < length; index++) {
      compare(`${path}[${index}]`, before.items[index], after.items[index], found);
    }
    return;
  }
  const was = before === undefined ? undefined : sourceOf(before);
  const is = after === undefined ? undefined : sourceOf(after);
  if (was !== is) found.push({ path, before: was, after: is });
}

/** The text of a value; strings as JSON writes them at their shortest. */
export function sourceOf(value: JsonValue): string {
  if (value instanceof JsonObject || value instanceof JsonArray || value instanceof JsonNumber) {
    return value.source;
  }
  return JSON.stringify(value);
}
