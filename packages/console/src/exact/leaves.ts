/**
 * The values in a JSON text by their path, with their exact text. Pure.
 */

import { joinPath } from "@countersign/review-api/calls";
import { itemSources, memberSources } from "./source.ts";

export interface Leaf {
  /** For example `items[0].amount`; a name with other characters than letters is quoted. */
  readonly path: string;
  /** The text of a value that has no others in it, or of an empty object or list. */
  readonly source: string;
}

/** @param json valid, as the server writes it; no deeper than the server takes it */
export function leavesOf(json: string, path = ""): Leaf[] {
  const source = json.trim();
  if (source.startsWith("{")) {
    const members = memberSources(source);
    if (members.length === 0) return [{ path, source: "{}" }];
    return members.flatMap(({ name, source: value }) => leavesOf(value, joinPath(path, name)));
  }
  if (source.startsWith("[")) {
    const items = itemSources(source);
    if (items.length === 0) return [{ path, source: "[]" }];
    return items.flatMap((item, index) => leavesOf(item, `${path}[${index}]`));
  }
  return [{ path, source }];
}

/** Kind of the value: `string`, `number`, `true`..., for comparing shapes. */
export function kindOf(source: string): string {
  const [first = ""] = source;
  if (first === '"') return "string";
  if (/[-\d]/.test(first)) return "number";
  return /^(true|false)$/.test(source) ? "boolean" : source;
}
