/**
 * Writes JSON schemas for kubeconform from the OpenAPI description of Kubernetes, and from custom
 * resource definitions. Objects reject unknown fields, as the strict validation of the API server
 * does.
 */

import { schemaFile } from "../go-tools/tools.ts";

export interface JsonSchema {
  readonly [key: string]: unknown;
}

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

interface OpenApi {
  readonly definitions: Readonly<Record<string, JsonSchema>>;
}

const REFERENCE = "#/definitions/";
const KINDS = "x-kubernetes-group-version-kind";

/** Text or a number, although the description has only the type `string`. */
const INT_OR_STRING = { oneOf: [{ type: "string" }, { type: "integer" }] };

/** @returns a self-contained schema for each kind, by the name of its file */
export function* kubernetesSchemas({ definitions }: OpenApi): Iterable<[string, JsonSchema]> {
  for (const [name, definition] of Object.entries(definitions)) {
    const kinds = (definition[KINDS] ?? []) as readonly GroupVersionKind[];
    // Definitions such as DeleteOptions have every group.
    const [only] = kinds;
    if (only === undefined || kinds.length > 1) continue;
    const names = closureOf(name, definitions);
    const needed = [...names].map((each) => [each, strict(definitions[each])] as const);
    yield [
      schemaFile(only.kind, only.group, only.version),
      { $ref: `${REFERENCE}${name}`, definitions: Object.fromEntries(needed) },
    ];
  }
}

/** The names of a definition and of all definitions that it needs. */
function closureOf(name: string, definitions: OpenApi["definitions"]): Set<string> {
  const found = new Set([name]);
  for (const each of found) {
    const text = JSON.stringify(definitions[each]);
    for (const [, next = ""] of text.matchAll(/"#\/definitions\/([^"]+)"/g)) found.add(next);
  }
  return found;
}

interface CustomResourceDefinition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: JsonSchema };
    }[];
  };
}

/** @returns a schema for each version, by the name of its file */
export function* customResourceSchemas({
  spec,
}: CustomResourceDefinition): Iterable<[string, JsonSchema]> {
  for (const { name, schema } of spec.versions) {
    const file = schemaFile(spec.names.kind, spec.group, name);
    yield [file, strict(schema.openAPIV3Schema) as JsonSchema];
  }
}

/** Keywords with a schema, or with an array of schemas. */
const WITH_SCHEMAS = ["additionalProperties", "allOf", "anyOf", "items", "not", "oneOf"];

/** The schema in which objects with named fields reject other fields. */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strict);
  if (schema === null || typeof schema !== "object") return schema;
  const { format, ...all } = schema as JsonSchema;
  if (format === "int-or-string" || all["x-kubernetes-int-or-string"] === true) {
    return INT_OR_STRING;
  }
  const entries = Object.entries(all).map(([key, value]) => {
    if (key === "properties") return [key, strictProperties(value as JsonSchema)];
    return [key, WITH_SCHEMAS.includes(key) ? strict(value) : value];
  });
  const result: JsonSchema = Object.fromEntries(entries);
  const isOpen =
    result.type !== "object" ||
    result.properties === undefined ||
    result.additionalProperties !== undefined ||
    result["x-kubernetes-preserve-unknown-fields"] === true;
  return isOpen ? result : { ...result, additionalProperties: false };
}

function strictProperties(properties: JsonSchema): JsonSchema {
  const entries = Object.entries(properties).map(([name, schema]) => [name, strict(schema)]);
  return Object.fromEntries(entries);
}
