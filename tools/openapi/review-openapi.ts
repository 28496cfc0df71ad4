/**
 * The OpenAPI description of the reviewer API, from its table of operations.
 */

import { PROBLEMS, type ProblemCode } from "@countersign/protocol";
import * as api from "@countersign/review-api";
import {
  type Operation,
  possibleErrors,
  REVIEW_OPERATIONS,
  REVIEW_PATH,
  type Schema,
} from "@countersign/review-api";
import { type ConversionConfig, toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { stringify } from "yaml";

type Json = Readonly<Record<string, unknown>>;

/** The exported schemas: each becomes a component under its name. */
const DEFINITIONS: Record<string, v.GenericSchema> = Object.fromEntries(
  Object.entries(api as Readonly<Record<string, unknown>>).flatMap(([name, value]) =>
    isSchema(value) ? [[name.replace(/^./, (first) => first.toUpperCase()), value]] : [],
  ),
);

/** The exported tables: each is a tag. */
const TABLES: readonly (readonly [string, Readonly<Record<string, Operation>>])[] = Object.entries(
  api as Readonly<Record<string, unknown>>,
).filter((entry): entry is [string, Record<string, Operation>] => isTable(entry[1]));

function isTable(value: unknown): value is Record<string, Operation> {
  if (typeof value !== "object" || value === null || value === REVIEW_OPERATIONS) return false;
  const rows = Object.values(value) as readonly unknown[];
  return (
    rows.length > 0 && rows.every((row) => typeof row === "object" && "answers" in (row ?? {}))
  );
}

/** The feature that an operation belongs to, as its table is called. */
export function featureOf(name: string): string {
  const found = TABLES.find(([, rows]) => Object.hasOwn(rows, name));
  if (found === undefined) throw new Error(`${name} is in no exported table`);
  return found[0];
}

function isSchema(value: unknown): value is v.GenericSchema {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "schema";
}

/**
 * Schemas with the last one in place of each pipeline of several: those before it only word what
 * is wrong, and the converter takes one schema in a pipeline. Each is simplified once, so that the
 * converter recognises the definitions by identity.
 */
const simplifications = new Map<Schema, Schema>();

function simplified(schema: Schema): Schema {
  const known = simplifications.get(schema);
  if (known !== undefined) return known;
  const simple = withoutPipelines(schema);
  simplifications.set(schema, simple);
  return simple;
}

function withoutPipelines(schema: Schema): Schema {
  const { pipe, entries, wrapped, item, options } = schema as Parts;
  if (pipe !== undefined) {
    const last = pipe.at(-1);
    if (isSchema(last)) return simplified(last);
    const [first, ...actions] = flattened(pipe);
    const simple = simplified(first as Schema);
    return { ...simple, pipe: [simple, ...actions] } as Schema;
  }
  const changed: Parts = {
    ...(entries && { entries: mapValues(entries, simplified) }),
    ...(wrapped && { wrapped: simplified(wrapped) }),
    ...(item && { item: simplified(item) }),
    ...(options?.every(isSchema) && { options: options.map(simplified) }),
  };
  return { ...schema, ...changed };
}

/** The last schema of a pipeline, which has none of its own, and the actions that follow. */
function flattened(pipe: readonly unknown[]): readonly unknown[] {
  const [schema, ...actions] = pipe.slice(pipe.findLastIndex(isSchema));
  const inner = (schema as Parts).pipe;
  return [...(inner === undefined ? [schema] : flattened(inner)), ...actions];
}

interface Parts {
  readonly pipe?: readonly unknown[];
  readonly entries?: Readonly<Record<string, Schema>>;
  readonly wrapped?: Schema;
  readonly item?: Schema;
  readonly options?: readonly Schema[];
}

function mapValues<T>(record: Readonly<Record<string, T>>, map: (value: T) => T) {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
}

const CONVERSION: ConversionConfig = {
  target: "draft-2020-12",
  definitions: mapValues(DEFINITIONS, simplified),
  overrideSchema: ({ valibotSchema }) =>
    valibotSchema.type === "custom" ? { type: "object" } : undefined,
  // A handler receives another value than the client sends. JSON Schema cannot express a check in
  // code, or a length in bytes.
  ignoreActions: ["transform", "raw_transform", "check", "raw_check", "partial_check", "max_bytes"],
  overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
};

function schemaOf(schema: Schema): Json {
  const { $schema: _, $defs: __, ...converted } = toJsonSchema(simplified(schema), CONVERSION);
  return converted;
}

/** The description as YAML. */
export function reviewOpenApi(): string {
  const paths: Record<string, Record<string, Json>> = {};
  for (const [name, row] of Object.entries<Operation>(REVIEW_OPERATIONS)) {
    const path = REVIEW_PATH + row.path;
    paths[path] = { ...paths[path], [row.method.toLowerCase()]: describe(name, row) };
  }
  const description = {
    openapi: "3.1.0",
    info: {
      title: "Countersign reviewer API",
      version: "1.0.0",
      summary: "Review requests, and manage policies, people and receivers.",
      description: "Generated by `npm run docs`. This API is not part of the public contract.",
      license: { name: "Apache 2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/", description: "The server's base address." }],
    security: [{ reviewerToken: [] }, { session: [] }],
    tags: TABLES.map(([name]) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        reviewerToken: { type: "http", scheme: "bearer", description: "A token `cs_rev_...`." },
        session: {
          type: "apiKey",
          in: "cookie",
          name: "__Host-countersign",
          description: "The session of a signed-in user. Only pages of this server send it.",
        },
      },
      responses: errorResponses(),
      schemas: { ...definitions(), Error: ERROR },
    },
  };
  const notice = "# Generated by `npm run docs`. Change packages/review-api instead.\n";
  return notice + stringify(description, { lineWidth: 100, aliasDuplicateObjects: false });
}

function definitions(): Json {
  return (toJsonSchema(v.any(), CONVERSION) as { readonly $defs?: Json }).$defs ?? {};
}

const ERROR: Json = {
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      required: ["code", "type", "message", "request_id"],
      properties: {
        code: { type: "string" },
        type: { type: "string" },
        message: { type: "string" },
        param: { type: "string", description: "The invalid field or parameter." },
        request_id: { type: "string" },
      },
    },
  },
};

function describe(name: string, row: Operation): Json {
  return {
    operationId: name,
    tags: [featureOf(name)],
    summary: row.summary,
    ...(row.power !== undefined && { description: `Requires the power \`${row.power}\`.` }),
    ...(row.caller === "anonymous" && { security: [] }),
    ...(row.caller === "person" && { security: [{ session: [] }] }),
    parameters: [...pathParameters(row), ...queryParameters(row), ...keyParameter(row)],
    ...(row.body !== undefined && {
      requestBody: {
        required: true,
        content: { "application/json": { schema: schemaOf(row.body) } },
      },
    }),
    responses: { ...answersOf(row), ...errorsOf(row) },
  };
}

function pathParameters({ path }: Operation): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: name === "id" ? { type: "string", format: "uuid" } : { type: "string" },
  }));
}

function queryParameters({ query }: Operation): Json[] {
  if (query === undefined || query === "any") return [];
  const { properties = {}, required = [] } = schemaOf(query) as {
    properties?: Readonly<Record<string, unknown>>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    ...(required.includes(name) && { required: true }),
    schema,
  }));
}

function keyParameter({ idempotencyKey }: Operation): Json[] {
  if (idempotencyKey === undefined) return [];
  const schema = { type: "string", minLength: 1, maxLength: 255 };
  return [{ name: "Idempotency-Key", in: "header", schema }];
}

function answersOf({ answers }: Operation): Json {
  return Object.fromEntries(
    Object.entries(answers).map(([status, answer]) => [status, answerOf(status, answer)]),
  );
}

const STATUS_WORDS: Readonly<Record<string, string>> = {
  200: "Done.",
  201: "Created.",
  202: "Proposed: a second person must agree.",
  204: "Done; there is no body.",
  303: "Redirects the browser.",
};

function answerOf(status: string, answer: Operation["answers"][200]): Json {
  const description = STATUS_WORDS[status] ?? "Done.";
  if (answer === null || answer === undefined) return { description };
  if (!("stream" in answer)) {
    return { description, content: { "application/json": { schema: schemaOf(answer) } } };
  }
  const { stream, line, otherStream } = answer;
  const text = { type: "string" };
  const content = {
    [stream]: { schema: line === undefined ? text : schemaOf(line) },
    ...(otherStream !== undefined && { [otherStream]: { schema: text } }),
  };
  return { description, content };
}

function errorsOf(row: Operation): Json {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of possibleErrors(row)) {
    const { status } = PROBLEMS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, names]) => [status, { $ref: `#/components/responses/${nameOf(names)}` }]),
  );
}

/** The name of the component that describes answers with one of these codes. */
function nameOf(codes: readonly ProblemCode[]): string {
  const name = [...codes].sort().join("-");
  ERROR_RESPONSES.set(name, [...codes].sort());
  return name;
}

/** Filled while the operations are described. */
const ERROR_RESPONSES = new Map<string, readonly ProblemCode[]>();

function errorResponses(): Json {
  const content = { "application/json": { schema: { $ref: "#/components/schemas/Error" } } };
  return Object.fromEntries(
    [...ERROR_RESPONSES].map(([name, codes]) => [
      name,
      { description: `The code is ${codes.join(", ").replace(/, (?=[^,]*$)/, " or ")}.`, content },
    ]),
  );
}
