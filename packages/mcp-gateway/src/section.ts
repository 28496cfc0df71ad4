/**
 * Reads an object of the config file member by member, and names every fault by its path.
 */

import {
  JsonArray,
  JsonNumber,
  JsonObject,
  type JsonValue,
  parseDuration,
} from "@countersign/protocol";

export class Section {
  readonly #members: ReadonlyMap<string, JsonValue>;
  readonly #path: string;
  readonly #faults: string[];
  readonly #known = new Set<string>();

  /** @param faults gets a sentence for everything that is wrong */
  constructor(json: JsonValue, path: string, faults: string[]) {
    this.#path = path;
    this.#faults = faults;
    this.#members = json instanceof JsonObject ? json.members : new Map();
    if (!(json instanceof JsonObject)) this.fault("", "must be an object");
  }

  get names(): readonly string[] {
    return [...this.#members.keys()];
  }

  /** @param rule completes the sentence that begins with the name */
  fault(name: string, rule: string): void {
    const path = [this.#path, name].filter((part) => part !== "").join(".");
    this.#faults.push(`${path || "The file"} ${rule}.`);
  }

  /** Rejects fields that were not read. */
  end(): void {
    for (const name of this.#members.keys()) {
      if (!this.#known.has(name)) this.fault(name, "is not a known field");
    }
  }

  section(name: string): Section | undefined {
    const value = this.#take(name);
    if (value === undefined) return undefined;
    return new Section(value, this.#path === "" ? name : `${this.#path}.${name}`, this.#faults);
  }

  text(name: string): string | undefined {
    const value = this.#take(name);
    if (value === undefined || typeof value === "string") return value;
    this.fault(name, "must be a string");
    return undefined;
  }

  texts(name: string): string[] | undefined {
    const value = this.#take(name);
    if (value === undefined) return undefined;
    const items = value instanceof JsonArray ? value.items : undefined;
    if (items?.every((item) => typeof item === "string")) return [...items] as string[];
    this.fault(name, "must be a list of strings");
    return undefined;
  }

  textMap(name: string): Record<string, string> | undefined {
    const value = this.#take(name);
    if (value === undefined) return undefined;
    const members = value instanceof JsonObject ? [...value.members] : undefined;
    if (members?.every(([, item]) => typeof item === "string")) {
      return Object.fromEntries(members) as Record<string, string>;
    }
    this.fault(name, "must be an object of strings");
    return undefined;
  }

  integer(name: string, min: number, max: number): number | undefined {
    const value = this.#take(name);
    if (value === undefined) return undefined;
    const number = value instanceof JsonNumber ? Number(value.source) : Number.NaN;
    if (Number.isInteger(number) && number >= min && number <= max) return number;
    this.fault(name, `must be a whole number from ${min} to ${max}`);
    return undefined;
  }

  /** ms */
  duration(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const ms = durationMs(text);
    if (ms === undefined) this.fault(name, "must be a duration up to 168h, such as 30s");
    return ms;
  }

  #take(name: string): JsonValue | undefined {
    this.#known.add(name);
    return this.#members.get(name);
  }
}

/** Whether the text is a duration that a timer can hold. */
function durationMs(text: string): number | undefined {
  const ms = parseDuration(text);
  return ms !== undefined && ms <= 7 * 24 * 3_600_000 ? ms : undefined;
}
