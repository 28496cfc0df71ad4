/**
 * Reading YAML with its places: every value knows its line, and every fault is kept, so that a
 * person mends a file once and not once for each mistake.
 *
 * Called by: load.ts, read-rule.ts, read-test.ts.
 * Promises: no alias, anchor, tag or second document is read; a key stands once; numbers keep
 * their spelling.
 */

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
import type { Finding } from "./rule.ts";

/** A value of the file; its node is null where nothing is written. */
export interface Place {
  readonly node: Node | null;
  /** For example `rules[3].when`. */
  readonly path: string;
  /** Where to point when nothing is written. */
  readonly offset: number;
}

/** The usual reason: a condition that looks like YAML. */
const HINT = " (a text with quotes, `: `, ` #` or a leading ! in it is put in quotes)";

const FINDINGS_MAX = 200;

/** What is wrong may be repeated in it, and be as long as the file. */
const MESSAGE_CHARS_MAX = 500;

/** The parser builds expressions as long as the indent; no policy needs such a line. */
const DEEP_LINE = /^[ \t?:-]{400}/m;

export class PolicyDocument {
  readonly source: string;
  readonly findings: Finding[] = [];
  readonly warnings: Finding[] = [];
  readonly root: Place;
  readonly #lines = new LineCounter();

  constructor(source: string) {
    this.source = source;
    this.root = { node: this.#parse(), path: "", offset: 0 };
  }

  #parse(): Node | null {
    const deep = DEEP_LINE.exec(this.source);
    if (deep !== null) {
      this.#addAt(deep.index, "", "this line is indented too deep");
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
        this.#addAt(0, "", "the file holds more than one document");
        return null;
      }
      const [document] = documents;
      for (const problem of [...(document?.errors ?? []), ...(document?.warnings ?? [])]) {
        this.#addAt(problem.pos[0], "", `this is not YAML 1.2: ${problem.message}${HINT}`);
      }
      return document?.contents ?? null;
    } catch {
      this.#addAt(0, "", "the file is nested too deep");
      return null;
    }
  }

  add(place: Place, message: string): void {
    this.#addAt(place.node?.range?.[0] ?? place.offset, place.path, message);
  }

  warn(place: Place, message: string): void {
    const at = this.#lines.linePos(place.node?.range?.[0] ?? place.offset);
    this.warnings.push({ line: at.line, column: at.col, path: place.path, message });
  }

  /** A fault inside a text: pointed at where the text stands as it is in the file. */
  addInside(place: Place, at: number, message: string): void {
    this.#addAt(this.#offsetInside(place, at), place.path, message);
  }

  #offsetInside({ node, offset }: Place, at: number): number {
    const start = node?.range?.[0] ?? offset;
    if (!isScalar(node) || typeof node.value !== "string") return start;
    const quote = node.type === "QUOTE_DOUBLE" || node.type === "QUOTE_SINGLE" ? 1 : 0;
    const text = start + quote;
    if (this.source.startsWith(node.value, text)) return text + at;
    if (node.type !== "BLOCK_LITERAL") return start;
    // A block begins on the line below its mark, each line with the same indent.
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
    const place = { line: Math.max(line, 1), column: Math.max(col, 1) };
    this.findings.push({ ...place, path, message: bounded });
  }

  lineOf(place: Place): number {
    return this.#lines.linePos(place.node?.range?.[0] ?? place.offset).line;
  }

  /** Whether something is written there at all. */
  isThere(place: Place | undefined): place is Place {
    return place !== undefined && place.node !== null;
  }

  /**
   * The members of a map. Unknown keys, and with `required` the missing ones, become findings.
   *
   * @returns undefined when it is no map
   */
  map(
    place: Place,
    allowed: readonly string[],
    required: readonly string[] = [],
  ): ReadonlyMap<string, Place> | undefined {
    const members = this.members(place);
    if (members === undefined) return undefined;
    for (const [key, member] of members) {
      if (allowed.includes(key)) continue;
      this.add({ ...member, node: null }, `unknown key \`${shown(key)}\`${choices(allowed)}`);
    }
    for (const key of required) {
      if (!members.has(key)) this.add(place, `\`${key}\` is missing`);
    }
    return members;
  }

  /** The members of a map with keys of any name. */
  members(place: Place): ReadonlyMap<string, Place> | undefined {
    const { node } = place;
    if (this.#isForeign(place)) return undefined;
    if (!isMap(node)) {
      this.add(place, `a map of keys and values is needed${was(node)}`);
      return undefined;
    }
    const members = new Map<string, Place>();
    for (const pair of node.items) this.#member(place, pair as Pair<Node, Node | null>, members);
    return members;
  }

  #member(place: Place, pair: Pair<Node, Node | null>, members: Map<string, Place>): void {
    const keyContext = { node: pair.key, path: place.path, offset: place.offset };
    if (this.#isForeign(keyContext)) return;
    const key = isScalar(pair.key) ? pair.key.value : undefined;
    if (typeof key !== "string") {
      this.add(keyContext, "a key must be text: put it in quotes");
      return;
    }
    if (members.has(key)) this.add(keyContext, `\`${shown(key)}\` is a duplicate key`);
    const path = place.path === "" ? key : `${place.path}.${key}`;
    members.set(key, { node: pair.value, path, offset: pair.key.range?.[0] ?? place.offset });
  }

  /** @returns undefined when it is no list */
  list(place: Place): readonly Place[] | undefined {
    const { node } = place;
    if (this.#isForeign(place)) return undefined;
    if (!isSeq(node)) {
      this.add(place, `a list is needed${was(node)}`);
      return undefined;
    }
    return node.items.map((item, index) => ({
      node: item as Node | null,
      path: `${place.path}[${index}]`,
      offset: node.range?.[0] ?? place.offset,
    }));
  }

  /** One value, or a list of them: the list. */
  oneOrMore(place: Place): readonly Place[] | undefined {
    if (!isSeq(place.node)) return [place];
    const items = this.list(place);
    if (items?.length === 0) this.add(place, "an empty list fits nothing: leave it out");
    return items;
  }

  text(place: Place, charsMax: number): string | undefined {
    const scalar = this.scalar(place);
    if (scalar === undefined) return undefined;
    if (typeof scalar.value !== "string") {
      this.add(place, `a text is needed${was(scalar)}: put it in quotes`);
      return undefined;
    }
    if (scalar.value === "" || scalar.value.length > charsMax) {
      this.add(place, `a text of 1 to ${charsMax} characters is needed`);
      return undefined;
    }
    return scalar.value;
  }

  oneOf<T extends string>(place: Place, allowed: readonly T[]): T | undefined {
    const value = this.scalar(place)?.value;
    const found = allowed.find((each) => each === value);
    if (found === undefined) this.add(place, `one of ${allowed.join(", ")} is needed`);
    return found;
  }

  bool(place: Place): boolean | undefined {
    const value = this.scalar(place)?.value;
    if (typeof value === "boolean") return value;
    this.add(place, "true or false is needed");
    return undefined;
  }

  integer(place: Place, min: number, max: number): number | undefined {
    const value = this.scalar(place)?.value;
    if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) {
      return value;
    }
    this.add(place, `a whole number from ${min} to ${max} is needed`);
    return undefined;
  }

  scalar(place: Place): Scalar | undefined {
    const { node } = place;
    if (this.#isForeign(place)) return undefined;
    if (isScalar(node)) return node;
    this.add(place, `a single value is needed${was(node)}`);
    return undefined;
  }

  /** What YAML has and a policy does not: it would hide what is written. */
  #isForeign(place: Place): boolean {
    const { node } = place;
    if (isAlias(node)) this.add(place, "aliases are not allowed: write it out");
    else if (node?.tag !== undefined)
      this.add(place, "tags are not allowed: a text that begins with ! is put in quotes");
    else if (node !== null && "anchor" in node && node.anchor !== undefined) {
      this.add(place, "anchors are not allowed");
    } else return false;
    return true;
  }
}

function was(node: unknown): string {
  if (isMap(node)) return ", not a map";
  if (isSeq(node)) return ", not a list";
  if (!isScalar(node) || node.value === null) return ", and nothing is here";
  return typeof node.value === "string" ? ", not a text" : `, not a ${typeof node.value}`;
}

function shown(key: string): string {
  return key.length <= 60 ? key : `${key.slice(0, 60)}...`;
}

function choices(allowed: readonly string[]): string {
  return allowed.length === 0 ? "" : `: there are ${allowed.join(", ")}`;
}
