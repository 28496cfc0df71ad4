/**
 * The machine-readable contract as code: tests hold real answers of a provider against what
 * contract/openapi.yaml declares, so the description and the behaviour cannot drift apart.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { parse } from "yaml";

export const OPENAPI_PATH: string = join(import.meta.dirname, "../../contract/openapi.yaml");

export const EXTENSIONS_PATH: string = join(import.meta.dirname, "../../contract/extensions.yaml");

type JsonObject = Readonly<Record<string, unknown>>;

/** A node of the description and its JSON Pointer, by which its schemas are compiled. */
export interface Place {
  readonly pointer: string;
  readonly value: unknown;
}

export interface OpenApi {
  readonly root: Place;
  /** One step down, through a reference at `place` if any; undefined for an unknown key. */
  child(place: Place, key: string): Place | undefined;
  /** The violations of `value` against the schema at `schema`. Each line starts with `label`. */
  violations(schema: Place, value: unknown, label: string): string[];
}

/** @throws when the file is not valid YAML or has a duplicate key */
export function loadOpenApi(): OpenApi {
  return openApiOf(parse(readFileSync(OPENAPI_PATH, "utf8")));
}

/**
 * The extensions of the contract, with the components of the contract that they refer to.
 *
 * @throws as {@link loadOpenApi}
 */
export function loadExtensions(): OpenApi {
  const inOne = readFileSync(EXTENSIONS_PATH, "utf8").replaceAll("openapi.yaml#/", "#/");
  const { components, ...rest } = parse(inOne) as Description;
  const { components: shared } = parse(readFileSync(OPENAPI_PATH, "utf8")) as Description;
  const sections = [...new Set([...Object.keys(shared), ...Object.keys(components)])];
  const merged = sections.map((name) => [name, { ...shared[name], ...components[name] }]);
  return openApiOf({ ...rest, components: Object.fromEntries(merged) });
}

interface Description {
  readonly components: Readonly<Record<string, JsonObject>>;
}

function openApiOf(description: unknown): OpenApi {
  const root: Place = { pointer: "", value: description };
  const compile = schemaCompiler(root.value);

  function child(place: Place, key: string): Place | undefined {
    const { pointer, value } = dereferenced(place);
    if (!isContainer(value) || !Object.hasOwn(value, key)) return undefined;
    return { pointer: `${pointer}/${escapeKey(key)}`, value: value[key] };
  }

  function dereferenced(place: Place): Place {
    if (!isContainer(place.value)) return place;
    const { $ref } = place.value;
    if (typeof $ref !== "string") return place;
    let target: Place | undefined = root;
    for (const key of $ref.split("/").slice(1)) {
      target = target && child(target, unescapeKey(key));
    }
    if (target === undefined) throw new Error(`${place.pointer} refers to nothing: ${$ref}`);
    return dereferenced(target);
  }

  function violations(schema: Place, value: unknown, label: string): string[] {
    const validate = compile(schema.pointer);
    return validate(value) ? [] : explain(validate.errors ?? [], label);
  }

  return { root, child, violations };
}

/**
 * The violations of one response of a provider; empty when it conforms.
 *
 * @param body the parsed JSON, or undefined when the response has no body
 * @throws RangeError when the description has no such provider operation: the caller's mistake,
 *   not the provider's
 */
export type ResponseValidator = (
  operationId: string,
  status: number,
  headers: Headers | Record<string, string>,
  body: unknown,
) => string[];

export function responseValidator(openApi: OpenApi = loadOpenApi()): ResponseValidator {
  const operations = operationsOf(openApi, "paths");
  return (operationId, status, headers, body) => {
    const operation = operations.get(operationId);
    if (operation === undefined) throw new RangeError(`no provider operation ${operationId}`);
    const responses = openApi.child(operation, "responses");
    const response = responses && openApi.child(responses, String(status));
    if (response === undefined) return [`status ${status} is not declared for ${operationId}`];
    return [
      ...headerViolations(openApi, response, headers),
      ...bodyViolations(openApi, response, headers, body),
    ];
  };
}

/** The operations by operationId: those of the provider, or the messages that it sends. */
export function operationsOf(
  openApi: OpenApi,
  section: "paths" | "webhooks",
): ReadonlyMap<string, Place> {
  const operations = new Map<string, Place>();
  for (const path of children(openApi, openApi.child(openApi.root, section))) {
    for (const operation of children(openApi, path)) {
      const { value: operationId } = openApi.child(operation, "operationId") ?? {};
      if (typeof operationId === "string") operations.set(operationId, operation);
    }
  }
  return operations;
}

export interface Example {
  readonly schema: Place;
  /** The position of the example. */
  readonly pointer: string;
  /** Undefined, which no schema accepts, where a body, parameter or header has no example. */
  readonly value: unknown;
}

/** Every example of a body, parameter, header or schema at or below `place`. */
export function* examplesUnder(openApi: OpenApi, place: Place): Generator<Example> {
  const keys = keysOf(place.value);
  // The target of a reference is visited where it is defined.
  if (keys.includes("$ref")) return;
  yield* examplesAt(openApi, place);
  for (const key of keys) {
    const next = openApi.child(place, key);
    if (next && key !== "example" && key !== "examples") yield* examplesUnder(openApi, next);
  }
}

function* examplesAt(openApi: OpenApi, place: Place): Generator<Example> {
  const schema = openApi.child(place, "schema");
  const one = openApi.child(place, "example");
  const many = openApi.child(place, "examples");
  if (schema === undefined) {
    // Only the examples of a schema are a list; the others have names.
    if (!Array.isArray(many?.value)) return;
    for (const example of children(openApi, many)) yield { schema: place, ...example };
  } else if (many === undefined) {
    yield { schema, pointer: (one ?? place).pointer, value: one?.value };
  } else {
    for (const example of children(openApi, many)) {
      const { pointer } = example;
      yield { schema, pointer, value: openApi.child(example, "value")?.value };
    }
  }
}

/** The keys of an object or a list of the description; a scalar has none. */
export function keysOf(value: unknown): string[] {
  return isContainer(value) ? Object.keys(value) : [];
}

function headerViolations(
  openApi: OpenApi,
  response: Place,
  headers: Headers | Record<string, string>,
): string[] {
  const declared = openApi.child(response, "headers");
  return keysOf(declared?.value).flatMap((name) => {
    const header = declared && openApi.child(declared, name);
    if (header === undefined) return [];
    const value = headerOf(headers, name);
    if (value === undefined) {
      const required = openApi.child(header, "required")?.value === true;
      return required ? [`header ${name} is missing`] : [];
    }
    const schema = openApi.child(header, "schema");
    return schema ? openApi.violations(schema, value, `header ${name}`) : [];
  });
}

function bodyViolations(
  openApi: OpenApi,
  response: Place,
  headers: Headers | Record<string, string>,
  body: unknown,
): string[] {
  const declared = openApi.child(response, "content");
  if (declared === undefined) {
    return body === undefined || body === "" ? [] : ["body must be absent"];
  }
  const contentType = headerOf(headers, "content-type");
  const [mediaTypeName = ""] = (contentType ?? "").split(";");
  const mediaType = openApi.child(declared, mediaTypeName.trim().toLowerCase());
  if (mediaType === undefined) {
    return [`content type ${contentType ?? "(none)"} is not declared`];
  }
  const schema = openApi.child(mediaType, "schema");
  return schema ? openApi.violations(schema, body, "body") : [];
}

function headerOf(headers: Headers | Record<string, string>, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const wanted = name.toLowerCase();
  return Object.entries(headers).find(([key]) => key.toLowerCase() === wanted)?.[1];
}

/** The members of the object or list at `place`; none if nothing is there. */
function children(openApi: OpenApi, place: Place | undefined): Place[] {
  if (place === undefined) return [];
  return keysOf(place.value).flatMap((key) => openApi.child(place, key) ?? []);
}

function isContainer(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null;
}

/** Schemas are compiled at their position in the document, so that references resolve. */
function schemaCompiler(document: unknown): (pointer: string) => ValidateFunction {
  if (!isContainer(document)) throw new Error("the description is not an object");
  const ajv = new Ajv2020({ strict: true, allErrors: true });
  formats.default(ajv);
  // The one of ajv-formats also takes the prefix "urn:uuid:", which is not a UUID.
  ajv.addFormat("uuid", /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i);
  // Ajv compiles the document around a schema too; in strict mode it has to know its keys.
  ajv.addVocabulary(Object.keys(document));
  // Which extension admits a schema; see contract/extensions.yaml.
  ajv.addKeyword("x-extension");
  ajv.addSchema(document, "openapi");
  return (pointer) => {
    const fragment = pointer.split("/").map(encodeURIComponent).join("/");
    const validate = ajv.getSchema(`openapi#${fragment}`);
    if (validate === undefined) throw new Error(`no schema at ${pointer}`);
    return validate;
  };
}

function explain(errors: readonly ErrorObject[], label: string): string[] {
  return errors.flatMap(({ keyword, instancePath, message, params }) => {
    // The reason why a branch failed is in the list too, and says more than that it failed.
    if (keyword === "if") return [];
    if (keyword === "false schema") return [`${label}${instancePath} must be absent`];
    const { additionalProperty, allowedValue, allowedValues } = params as JsonObject;
    const detail = additionalProperty ?? allowedValue ?? allowedValues;
    const suffix = detail === undefined ? "" : `: ${JSON.stringify(detail)}`;
    return [`${label}${instancePath} ${message ?? keyword}${suffix}`];
  });
}

/** @see RFC 6901 section 4 */
function escapeKey(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

function unescapeKey(key: string): string {
  return decodeURIComponent(key).replaceAll("~1", "/").replaceAll("~0", "~");
}
