/** A call as the renderers and the signals read it. */

import { JsonObject, type JsonValue, parseJson } from "@countersign/protocol";

export interface Call {
  readonly tool: string;
  /** The MCP server that the agent names. */
  readonly server?: string | undefined;
  readonly args: JsonObject;
  /** The working folder that the agent reports. */
  readonly cwd?: string | undefined;
}

/** Longer arguments are not analyzed. */
export const ARGUMENTS_CHARS_MAX = 300_000;

/** The server enforces its own limits, which can be above the defaults. */
const LIMITS = { depthMax: 1_000, numberCharsMax: Number.POSITIVE_INFINITY };

/** @returns undefined for a text that is too long, or not a JSON object */
export function readArguments(source: string): JsonObject | undefined {
  if (source.length > ARGUMENTS_CHARS_MAX) return undefined;
  try {
    const value = parseJson(source, LIMITS);
    return value instanceof JsonObject ? value : undefined;
  } catch {
    return undefined;
  }
}

/** @returns undefined unless the context has a text `cwd` */
export function cwdOf(context: JsonValue | undefined): string | undefined {
  const cwd = context instanceof JsonObject ? context.members.get("cwd") : undefined;
  return typeof cwd === "string" ? cwd : undefined;
}

/**
 * The only one of these members that is a text; undefined for several. A tool can use any of two
 * members with one meaning.
 */
export function onlyTextKey({ members }: JsonObject, names: readonly string[]): string | undefined {
  const [name, ...others] = names.filter((one) => typeof members.get(one) === "string");
  return others.length === 0 ? name : undefined;
}

/** True when a word of the tool or the server matches: `mcp__stripe__refund` has three. */
export function isNamed({ tool, server = "" }: Call, word: RegExp): boolean {
  return nameWords(`${server} ${tool}`).some((one) => word.test(one));
}

/** In lower case: `createRefund` and `create-refund` have the same words. */
export function nameWords(name: string): string[] {
  const spaced = name.slice(0, 1_000).replace(/([a-z0-9])([A-Z])/g, "$1 $2");
  return spaced
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((one) => one !== "");
}
