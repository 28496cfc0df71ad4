/**
 * Arguments that a server with MCP 2026-07-28 over HTTP also requires as headers `Mcp-Param-NAME`.
 * The definition of the tool marks them with `x-mcp-header`.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
 */

import { JsonArray, JsonNumber, JsonObject, type JsonValue } from "@countersign/protocol";
import { objectIn, textIn } from "./exact-message.ts";
import { decoded, type RequestHeaders } from "./header-value.ts";

export interface ParamHeader {
  /** After `Mcp-Param-`. */
  readonly name: string;
  /** Members that lead to the argument. */
  readonly path: readonly string[];
}

const ANNOTATION = "x-mcp-header";

/** A token of RFC 9110. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** A number as in JSON. */
const DECIMAL = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

const PRIMITIVES: readonly unknown[] = ["string", "integer", "boolean"];

/** Members of a schema with values that are not schemas. */
const DATA = ["const", "default", "enum", "examples", ANNOTATION];

/** Members of a schema with a schema for each name. */
const MAPS = ["$defs", "definitions", "dependentSchemas", "patternProperties"];

/** @throws Error for a definition that a client must not use, with the reason */
export function paramHeadersOf(definition: JsonObject): readonly ParamHeader[] {
  const found: ParamHeader[] = [];
  const schema = objectIn(definition, "inputSchema");
  if (schema !== undefined) collect(schema, [], found);
  const names = found.map(({ name }) => name.toLowerCase());
  if (new Set(names).size < names.length) throw new Error(`two ${ANNOTATION} are equal`);
  return found;
}

/** @param path undefined if the place of the value depends on the arguments */
function collect(
  schema: JsonObject,
  path: readonly string[] | undefined,
  found: ParamHeader[],
): void {
  const annotation = schema.members.get(ANNOTATION);
  if (annotation !== undefined) found.push(headerOf(annotation, schema, path));
  for (const [key, value] of schema.members) {
    if (DATA.includes(key)) continue;
    if (key === "properties" && value instanceof JsonObject) {
      for (const [name, property] of value.members) {
        collectIn(property, path && [...path, name], found);
      }
    } else if (MAPS.includes(key) && value instanceof JsonObject) {
      for (const named of value.members.values()) collectIn(named, undefined, found);
    } else collectIn(value, undefined, found);
  }
}

function collectIn(
  value: JsonValue,
  path: readonly string[] | undefined,
  found: ParamHeader[],
): void {
  if (value instanceof JsonObject) collect(value, path, found);
  else if (value instanceof JsonArray) {
    for (const item of value.items) collectIn(item, undefined, found);
  }
}

function headerOf(
  annotation: JsonValue,
  schema: JsonObject,
  path: readonly string[] | undefined,
): ParamHeader {
  if (typeof annotation !== "string" || !TOKEN.test(annotation)) {
    throw new Error(`an ${ANNOTATION} is not a header name`);
  }
  if (path === undefined || path.length === 0) {
    throw new Error(`${ANNOTATION} ${annotation} is not on a property of the arguments`);
  }
  if (!PRIMITIVES.includes(textIn(schema, "type"))) {
    throw new Error(`${ANNOTATION} ${annotation} is not on a string, integer or boolean`);
  }
  return { name: annotation, path };
}

/** The values of these arguments, by name of the header. Absent and null arguments have none. */
export function paramValues(
  headers: readonly ParamHeader[],
  args: JsonObject,
): Record<string, string> {
  const values: Record<string, string> = {};
  for (const { name, path } of headers) {
    const text = textOf(valueAt(args, path));
    if (text !== undefined) values[`mcp-param-${name.toLowerCase()}`] = text;
  }
  return values;
}

/**
 * The first header that is missing, not valid or different from its argument. Absent and null
 * arguments need no header.
 */
export function findMismatch(
  headers: readonly ParamHeader[],
  args: JsonObject,
  received: RequestHeaders,
): ParamHeader | undefined {
  return headers.find(({ name, path }) => {
    const value = valueAt(args, path);
    const text = textOf(value);
    if (text === undefined) return false;
    const header = decoded(received[`mcp-param-${name.toLowerCase()}`]);
    if (header === undefined) return true;
    return (value instanceof JsonNumber ? numberText(header) : header) !== text;
  });
}

function valueAt(args: JsonObject, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = args;
  for (const key of path) {
    value = value instanceof JsonObject ? value.members.get(key) : undefined;
  }
  return value;
}

function textOf(value: JsonValue | undefined): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (!(value instanceof JsonNumber)) return undefined;
  return numberText(value.source);
}

/** 4.2e1 and 42 are the same integer. */
function numberText(source: string): string {
  const number = DECIMAL.test(source) ? Number(source) : Number.NaN;
  return Number.isSafeInteger(number) ? String(number) : source;
}
