/**
 * Reads YAML with locations. Every value has its line, and all faults are collected, so that an
 * author receives all of them at once.
 *
 * Guarantees: aliases, anchors, tags and further documents are rejected; keys are unique; numbers
 * keep their spelling.
 */

import type { ProblemFinding } from "@countersign/protocol";
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseAllDocuments,
  type Scalar,
} from "yaml";

/** A value of the file; its node is null when it is missing. */
export interface YamlLocation {
  readonly node: Node | null;
  /** For example `rules[3].when`. */
  readonly path: string;
  /** Position for findings about a missing value. */
  readonly offset: number;
}

/** The usual cause: a condition that YAML parses as another type. */
const HINT = " (put a text with quotes, `: `, ` #` or a leading ! in quotes)";

const FINDINGS_MAX = 200;

/** The library's message may repeat the fault, which may be as long as the file. */
const MESSAGE_CHARS_MAX = 500;

/** The parser's expressions grow with the indent. No policy needs such a line. */
const DEEP_LINE = /^[ \t?:-]{400}/m;

export class PolicyDocument {
  readonly source: string;
  readonly findings: ProblemFinding[] = [];
  readonly warnings: ProblemFinding[] = [];
  readonly root: YamlLocation;
  readonly #lines = new LineCounter();

  constructor(source: string) {
    this.source = source;
    this.root = { node: this.#parse(), path: "", offset: 0 };
  }

  #parse(): Node | null {
    const deep = DEEP_LINE.exec(this.source);
    if (deep !== null) {
      this.#addAt(deep.index, "", "the indent of this line is too deep");
      return null;
    }
    try {
      const documents = parseAllDocuments(this.source, {
        version: "1.2",
        schema: "core",
        merge: false,
        uniqueKeys: false,
        prettyErrors: false,
        logLevel: "silent",
        lineCounter: this.#lines,
      });
      if (!Array.isArray(documents) || documents.length > 1) {
        this.#addAt(0, "", "the file contains more than one document");
        return null;
      }
      const [document] = documents;
      for (const problem of [...(document?.errors ?? []), ...(document?.warnings ?? [])]) {
        this.#addAt(problem.pos[0], "", `invalid YAML 1.2: ${problem.message}${HINT}`);
      }
      return document?.contents ?? null;
    } catch {
      this.#addAt(0, "", "the file is nested too deep");
      return null;
    }
  }

  add(location: YamlLocation, message: string): void {
    this.#addAt(location.node?.range?.[0] ?? location.offset, location.path, message);
  }

  warn(location: YamlLocation, message: string): void {
    const at = this.#lines.linePos(location.node?.range?.[0] ?? location.offset);
    this.warnings.push({ line: at.line, column: at.col, path: location.path, message });
  }

  /** Adds a fault inside a text, at its position in the file. */
  addInside(location: YamlLocation, at: number, message: string): void {
    this.#addAt(this.#offsetInside(location, at), location.path, message);
  }

  #offsetInside({ node, offset }: YamlLocation, at: number): number {
    const start = node?.range?.[0] ?? offset;
    if (!isScalar(node) || typeof node.value !== "string") return start;
    const quote = node.type === "QUOTE_DOUBLE" || node.type === "QUOTE_SINGLE" ? 1 : 0;
    const text = start + quote;
    if (this.source.startsWith(node.value, text)) return text + at;
    if (node.type !== "BLOCK_LITERAL") return start;
    // A block scalar starts on the line after its indicator, with the same indent on each line.
    const before = node.value.slice(0, at).split("\n");
    let line = this.source.indexOf("\n", start) + 1;
    const indent = /^\s*?( *)\S/.exec(this.source.slice(line))?.[1]?.length ?? 0;
    for (let skipped = 1; skipped < before.length; skipped++) {
      line = this.source.indexOf("\n", line) + 1;
    }
    return line + indent + (before.at(-1)?.length ?? 0);
  }

  #addAt(offset: number, path: string, message: string): void {
    if (this.findings.length >= FINDINGS_MAX) return;
    const { line, col } = this.#lines.linePos(offset);
    const bounded =
      message.length > MESSAGE_CHARS_MAX ? `${message.slice(0, MESSAGE_CHARS_MAX)} ...` : message;
    const location = { line: Math.max(line, 1), column: Math.max(col, 1) };
    this.findings.push({ ...location, path, message: bounded });
  }

  lineOf(location: YamlLocation): number {
    return this.#lines.linePos(location.node?.range?.[0] ?? location.offset).line;
  }

  /** True when the value exists. */
  isThere(location: YamlLocation | undefined): location is YamlLocation {
    return location !== undefined && location.node !== null;
  }

  /**
   * The entries of a map. Unknown keys, and missing `required` ones, become findings.
   *
   * @returns undefined unless it is a map
   */
  map(
    location: YamlLocation,
    allowed: readonly string[],
    required: readonly string[] = [],
  ): ReadonlyMap<string, YamlLocation> | undefined {
    const members = this.members(location);
    if (members === undefined) return undefined;
    for (const [key, member] of members) {
      if (allowed.includes(key)) continue;
      this.add({ ...member, node: null }, `unknown key \`${shown(key)}\`${choices(allowed)}`);
    }
    for (const key of required) {
      if (!members.has(key)) this.add(location, `\`${key}\` is missing`);
    }
    return members;
  }

  /** The entries of a map with any keys. */
  members(location: YamlLocation): ReadonlyMap<string, YamlLocation> | undefined {
    const { node } = location;
    if (this.#isForeign(location)) return undefined;
    if (!isMap(node)) {
      this.add(location, `expected a map of keys and values${was(node)}`);
      return undefined;
    }
    const members = new Map<string, YamlLocation>();
    for (const pair of node.items) this.#member(location, pair as Pair<Node, Node | null>, members);
    return members;
  }

  #member(
    location: YamlLocation,
    pair: Pair<Node, Node | null>,
    members: Map<string, YamlLocation>,
  ): void {
    const keyLocation = { node: pair.key, path: location.path, offset: location.offset };
    if (this.#isForeign(keyLocation)) return;
    const key = isScalar(pair.key) ? pair.key.value : undefined;
    if (typeof key !== "string") {
      this.add(keyLocation, "a key must be a string: put it in quotes");
      return;
    }
    if (members.has(key)) this.add(keyLocation, `\`${shown(key)}\` is a duplicate key`);
    const path = location.path === "" ? key : `${location.path}.${key}`;
    members.set(key, { node: pair.value, path, offset: pair.key.range?.[0] ?? location.offset });
  }

  /** @returns undefined unless it is a list */
  list(location: YamlLocation): readonly YamlLocation[] | undefined {
    const { node } = location;
    if (this.#isForeign(location)) return undefined;
    if (!isSeq(node)) {
      this.add(location, `expected a list${was(node)}`);
      return undefined;
    }
    return node.items.map((item, index) => ({
      node: item as Node | null,
      path: `${location.path}[${index}]`,
      offset: node.range?.[0] ?? location.offset,
    }));
  }

  /** A single value becomes a list of one. */
  oneOrMore(location: YamlLocation): readonly YamlLocation[] | undefined {
    if (!isSeq(location.node)) return [location];
    const items = this.list(location);
    if (items?.length === 0) this.add(location, "an empty list matches nothing: omit it");
    return items;
  }

  text(location: YamlLocation, charsMax: number): string | undefined {
    const scalar = this.scalar(location);
    if (scalar === undefined) return undefined;
    if (typeof scalar.value !== "string") {
      this.add(location, `expected a string${was(scalar)}: put it in quotes`);
      return undefined;
    }
    if (scalar.value === "" || scalar.value.length > charsMax) {
      this.add(location, `expected a string of 1 to ${charsMax} characters`);
      return undefined;
    }
    return scalar.value;
  }

  oneOf<T extends string>(location: YamlLocation, allowed: readonly T[]): T | undefined {
    const value = this.scalar(location)?.value;
    const found = allowed.find((each) => each === value);
    if (found === undefined) this.add(location, `expected one of ${allowed.join(", ")}`);
    return found;
  }

  bool(location: YamlLocation): boolean | undefined {
    const value = this.scalar(location)?.value;
    if (typeof value === "boolean") return value;
    this.add(location, "expected true or false");
    return undefined;
  }

  integer(location: YamlLocation, min: number, max: number): number | undefined {
    const value = this.scalar(location)?.value;
    if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) {
      return value;
    }
    this.add(location, `expected a whole number from ${min} to ${max}`);
    return undefined;
  }

  scalar(location: YamlLocation): Scalar | undefined {
    const { node } = location;
    if (this.#isForeign(location)) return undefined;
    if (isScalar(node)) return node;
    this.add(location, `expected a single value${was(node)}`);
    return undefined;
  }

  /** YAML features that policies do not support, because they would hide values. */
  #isForeign(location: YamlLocation): boolean {
    const { node } = location;
    if (isAlias(node)) this.add(location, "aliases are not allowed: repeat the value");
    else if (node?.tag !== undefined)
      this.add(location, "tags are not allowed: put a text that starts with ! in quotes");
    else if (node !== null && "anchor" in node && node.anchor !== undefined) {
      this.add(location, "anchors are not allowed");
    } else return false;
    return true;
  }
}

function was(node: unknown): string {
  if (isMap(node)) return ", got a map";
  if (isSeq(node)) return ", got a list";
  if (!isScalar(node) || node.value === null) return ", got nothing";
  return typeof node.value === "string" ? ", got a string" : `, got a ${typeof node.value}`;
}

function shown(key: string): string {
  return key.length <= 60 ? key : `${key.slice(0, 60)}...`;
}

function choices(allowed: readonly string[]): string {
  return allowed.length === 0 ? "" : `: use one of ${allowed.join(", ")}`;
}
