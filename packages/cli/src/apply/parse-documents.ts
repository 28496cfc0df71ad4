/** Reads the documents of one file: YAML, with a strict schema for each kind. Pure. */

import * as v from "valibot";
import { isMap, isScalar, isSeq, LineCounter, parseAllDocuments } from "yaml";
import type { Document, Path } from "./document.ts";
import { type FileFinding, findingAt, type Place } from "./finding.ts";
import type { Kind } from "./kind.ts";

export interface ParsedFile {
  readonly documents: readonly Document[];
  readonly findings: readonly FileFinding[];
}

type PlaceOf = (path?: Path) => Place;

export function parseDocuments(file: string, text: string, kinds: readonly Kind[]): ParsedFile {
  const lineCounter = new LineCounter();
  const documents: Document[] = [];
  const findings: FileFinding[] = [];
  const at = (offset: number): Place => {
    const { line, col } = lineCounter.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const parsed = parseAllDocuments(text, { lineCounter, prettyErrors: false });
  for (const yaml of Array.isArray(parsed) ? parsed : []) {
    for (const { pos, message } of yaml.errors) findings.push(findingAt(at(pos[0]), "", message));
    if (yaml.errors.length > 0 || yaml.contents === null) continue;
    const placeOf: PlaceOf = (path = []) => at(offsetOf(yaml.contents, path));
    const read = readDocument(() => yaml.toJS(), placeOf, kinds);
    if (Array.isArray(read)) findings.push(...read);
    else documents.push(read);
  }
  return { documents, findings };
}

/** @param readValue throws for an unknown or excessive alias */
function readDocument(
  readValue: () => unknown,
  placeOf: PlaceOf,
  kinds: readonly Kind[],
): Document | FileFinding[] {
  let value: unknown;
  try {
    value = readValue();
  } catch (error) {
    return [findingAt(placeOf(), "", (error as Error).message)];
  }
  const { kind: name } = (value ?? {}) as { readonly kind?: unknown };
  const kind = kinds.find((one) => one.kind === name);
  if (kind === undefined) {
    const known = kinds.map((one) => one.kind).join(", ");
    const message = `kind must be one of ${known}`;
    return [findingAt(placeOf(["kind"]), "kind", message)];
  }
  const result = v.safeParse(kind.schema, value);
  if (!result.success) return result.issues.map((issue) => toFinding(issue, placeOf));
  return { kind: kind.kind, name: kind.nameOf(result.output), spec: result.output, placeOf };
}

function toFinding(issue: v.BaseIssue<unknown>, placeOf: PlaceOf): FileFinding {
  const path = (issue.path ?? []).map(({ key }) => key as string | number);
  const member = path.join(".");
  return findingAt(placeOf(path), member, `${member} ${ruleOf(issue)}`.trim());
}

function ruleOf({ type, expected, received, message }: v.BaseIssue<unknown>): string {
  if (type !== "strict_object") return message;
  if (expected === "never") return "is not a known member; remove it";
  return received === "undefined" ? "is missing" : "must be a map";
}

/** The offset of a member, or of the closest map around a missing one. */
function offsetOf(top: unknown, path: Path): number {
  let node = top;
  let offset = rangeOf(top);
  for (const key of path) {
    if (isMap(node)) {
      const pair = node.items.find((one) => isScalar(one.key) && one.key.value === key);
      if (pair === undefined) return offset;
      offset = rangeOf(pair.key);
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(key)];
      offset = rangeOf(node) || offset;
    }
  }
  return offset;
}

function rangeOf(node: unknown): number {
  const { range } = (node ?? {}) as { readonly range?: readonly number[] | null };
  return range?.[0] ?? 0;
}
