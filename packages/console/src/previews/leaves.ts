/** The values in arguments, with their paths. Pure. */

import { JsonArray, JsonObject, type JsonValue } from "@countersign/protocol";
import { joinPath } from "../exact/leaves.ts";

export interface Placed<T> {
  /** Like `to[0].amount`; empty for the whole. */
  readonly path: string;
  readonly value: T;
}

/** Objects at any depth, the whole first. */
export function objectsIn(value: JsonValue): Placed<JsonObject>[] {
  return placedIn(value).flatMap(({ path, value: one }) =>
    one instanceof JsonObject ? [{ path, value: one }] : [],
  );
}

/** Texts at any depth, in their order. */
export function stringsIn(value: JsonValue): Placed<string>[] {
  return placedIn(value).flatMap(({ path, value: one }) =>
    typeof one === "string" ? [{ path, value: one }] : [],
  );
}

function placedIn(value: JsonValue, path = ""): Placed<JsonValue>[] {
  const found: Placed<JsonValue>[] = [];
  const visit = (one: JsonValue, at: string) => {
    found.push({ path: at, value: one });
    if (one instanceof JsonObject) {
      for (const [key, member] of one.members) visit(member, joinPath(at, key));
    } else if (one instanceof JsonArray) {
      one.items.forEach((item, index) => {
        visit(item, `${at}[${index}]`);
      });
    }
  };
  visit(value, path);
  return found;
}
