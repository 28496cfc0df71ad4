/** The values in arguments, with their paths. Pure. */

import { JsonArray, JsonObject, type JsonValue } from "@countersign/protocol";
import { joinPath } from "./path.ts";

export interface Placed<T> {
  /** Like `to[0].amount`; empty for the outermost value. */
  readonly path: string;
  /** The name of the nearest member; items of an array have the name of the array. */
  readonly key: string;
  /** 0 for the outermost value. */
  readonly depth: number;
  readonly value: T;
}

/** Arguments with more values than this have no previews: a part of them could mislead. */
const VALUES_MAX = 20_000;

/** All values at any depth, the outermost first; none when there are too many. */
export function valuesIn(value: JsonValue): Placed<JsonValue>[] {
  const found: Placed<JsonValue>[] = [];
  const visit = (one: Placed<JsonValue>): void => {
    if (found.length > VALUES_MAX) return;
    found.push(one);
    const depth = one.depth + 1;
    if (one.value instanceof JsonObject) {
      for (const [key, member] of one.value.members) {
        visit({ path: joinPath(one.path, key), key, depth, value: member });
      }
    } else if (one.value instanceof JsonArray) {
      one.value.items.forEach((item, index) => {
        visit({ path: `${one.path}[${index}]`, key: one.key, depth, value: item });
      });
    }
  };
  visit({ path: "", key: "", depth: 0, value });
  return found.length > VALUES_MAX ? [] : found;
}

/** Objects at any depth, the outermost first. */
export function objectsIn(value: JsonValue): Placed<JsonObject>[] {
  return valuesIn(value).flatMap((one) =>
    one.value instanceof JsonObject ? [{ ...one, value: one.value }] : [],
  );
}

/** Strings at any depth, in their order. */
export function stringsIn(value: JsonValue): Placed<string>[] {
  return valuesIn(value).flatMap((one) =>
    typeof one.value === "string" ? [{ ...one, value: one.value }] : [],
  );
}
