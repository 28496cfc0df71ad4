/**
 * Reads the members of a body strictly. Rejects unknown fields, nulls and wrong types with the name
 * of the field.
 */

import { JsonObject, type JsonValue } from "./json.ts";
import { Problem } from "./problems.ts";

/** The members of a body, or of an object in it, with the checks that every body needs. */
export class Fields {
  readonly #members: ReadonlyMap<string, JsonValue>;
  /** Path of the object in the body; undefined for the body itself. */
  readonly #path: string | undefined;

  /** @param path the field of the body that contains the object, for the names in problems */
  constructor(object: JsonValue, names: readonly string[], path?: string) {
    this.#path = path;
    if (!(object instanceof JsonObject)) {
      throw invalidField(path ?? "body", "must be a JSON object");
    }
    for (const name of object.members.keys()) {
      if (!names.includes(name)) {
        const known = names.join(", ");
        const message = `The body has an unknown field ${quoted(name)}. Known: ${known}.`;
        throw new Problem("invalid_request", message, {
          // A cut may fall between two surrogates.
          param: name === "" ? (path ?? "body") : this.#param(name.slice(0, 200).toWellFormed()),
        });
      }
    }
    this.#members = object.members;
  }

  value(name: string): JsonValue | undefined {
    return this.#members.get(name);
  }

  required<T>(name: string, value: T | undefined): T {
    if (value === undefined) throw this.invalid(name, "is required");
    return value;
  }

  text(name: string, lengthMin: number): string | undefined {
    const value = this.#members.get(name);
    if (value === undefined) return undefined;
    if (typeof value !== "string") throw this.invalid(name, "must be a string");
    if (value.length < lengthMin) throw this.invalid(name, "must not be empty");
    return value;
  }

  object(name: string): JsonObject | undefined {
    const value = this.#members.get(name);
    if (value === undefined) return undefined;
    if (!(value instanceof JsonObject)) throw this.invalid(name, "must be a JSON object");
    return value;
  }

  /** The problem for one invalid field, see {@link invalidField}. */
  invalid(name: string, rule: string): Problem {
    return invalidField(this.#param(name), rule);
  }

  #param(name: string): string {
    return this.#path === undefined ? name : `${this.#path}.${name}`;
  }
}

const QUOTED_CHARS_MAX = 60;

/** Quotes a caller's value in a message: limited in length, with escaped control characters. */
export function quoted(value: string): string {
  const cut = value.length > QUOTED_CHARS_MAX ? `${value.slice(0, QUOTED_CHARS_MAX)}...` : value;
  // A cut may fall between two surrogates.
  return JSON.stringify(cut.toWellFormed());
}

/** The problem for one invalid field. `rule` completes the sentence that starts with its name. */
export function invalidField(param: string, rule: string): Problem {
  return new Problem("invalid_request", `${param} ${rule}.`, { param });
}
