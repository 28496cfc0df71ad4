/**
 * Reads the members of a body strictly: unknown fields, nulls and wrong types are refused with
 * the name of the field.
 */

import { JsonObject, type JsonValue } from "./json.ts";
import { Problem } from "./problems.ts";

/** The members of a body, with the checks that every body needs. */
export class Fields {
  readonly #members: ReadonlyMap<string, JsonValue>;

  constructor(body: JsonValue, names: readonly string[]) {
    if (!(body instanceof JsonObject)) throw invalidField("body", "must be a JSON object");
    for (const name of body.members.keys()) {
      if (!names.includes(name)) {
        throw new Problem("invalid_request", "The body has an unknown field.", {
          // A cut may fall between two surrogates.
          param: name === "" ? "body" : name.slice(0, 200).toWellFormed(),
        });
      }
    }
    this.#members = body.members;
  }

  value(name: string): JsonValue | undefined {
    return this.#members.get(name);
  }

  required<T>(name: string, value: T | undefined): T {
    if (value === undefined) throw invalidField(name, "is required");
    return value;
  }

  text(name: string, lengthMin: number): string | undefined {
    const value = this.#members.get(name);
    if (value === undefined) return undefined;
    if (typeof value !== "string") throw invalidField(name, "must be a string");
    if (value.length < lengthMin) throw invalidField(name, "must not be empty");
    return value;
  }

  object(name: string): JsonObject | undefined {
    const value = this.#members.get(name);
    if (value === undefined) return undefined;
    if (!(value instanceof JsonObject)) throw invalidField(name, "must be a JSON object");
    return value;
  }
}

/** The problem of one wrong field: `rule` completes the sentence that begins with its name. */
export function invalidField(param: string, rule: string): Problem {
  return new Problem("invalid_request", `${param} ${rule}.`, { param });
}
