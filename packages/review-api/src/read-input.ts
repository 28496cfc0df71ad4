/** Checks bodies and query parameters against their schemas; the error names the first fault. */

import { invalidField, Problem, quoted } from "@countersign/protocol";
import * as v from "valibot";
import type { AnswerStatus, Operation, Schema } from "./operation.ts";

const PARAM_CHARS_MAX = 200;

/**
 * Checks a body.
 *
 * @throws Problem `invalid_request` that names the first wrong field
 */
export function readBody<S extends Schema>(schema: S, body: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, body, { abortEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  const param = fieldOf(issue);
  if (issue.expected === "never") {
    const message = `The body has an unknown field ${nameOf(issue)}. Remove it.`;
    throw new Problem("invalid_request", message, { param });
  }
  throw invalidField(param, ruleOf(issue));
}

/**
 * Checks the query parameters.
 *
 * @throws Problem `invalid_request` that names the first wrong parameter
 */
export function readQuery<S extends Schema>(
  schema: S & { readonly entries?: Readonly<Record<string, unknown>> },
  query: unknown,
): v.InferOutput<S> {
  const known = Object.keys(schema.entries ?? {});
  assertKnownParameters(query as object, known);
  const result = v.safeParse(schema, query, { abortEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  const given = typeof issue.input === "string" ? `, not ${quoted(issue.input)}` : "";
  throw invalidField(fieldOf(issue), `${ruleOf(issue)}${given}`);
}

/** Whether an answer is what an operation answers with a status. */
export function isAnswer(row: Operation, status: number, answer: unknown): boolean {
  const schema = row.answers[status as AnswerStatus];
  if (schema === undefined) return false;
  return schema === null || "stream" in schema ? answer === undefined : v.is(schema, answer);
}

/** Whether a line of a streamed answer is one that an operation answers. */
export function isLine(row: Operation, line: unknown): boolean {
  return Object.values(row.answers).some(
    (answer) => answer !== null && "line" in answer && v.is(answer.line, line),
  );
}

/**
 * A misspelt filter that is ignored would return rows that were not requested.
 *
 * @throws Problem `invalid_request` that lists the known parameters
 */
export function assertKnownParameters(query: object, known: readonly string[]): void {
  const unknown = Object.keys(query).filter((name) => !known.includes(name));
  const [param] = unknown;
  if (param === undefined) return;
  const listed = known.length === 0 ? "This route has none" : `Known here: ${known.join(", ")}`;
  const message = `Unknown query parameter ${unknown.join(", ")}. ${listed}.`;
  throw new Problem("invalid_request", message, { param });
}

/** The path of the field, as far as it names members: items of a list have no names. */
function fieldOf({ path }: v.BaseIssue<unknown>): string {
  const names: string[] = [];
  for (const { type, key } of path ?? []) {
    if (type === "array" || key === "") break;
    names.push(String(key));
  }
  // A cut may fall between two surrogates.
  return names.join(".").slice(0, PARAM_CHARS_MAX).toWellFormed() || "body";
}

function nameOf({ path }: v.BaseIssue<unknown>): string {
  return quoted(String(path?.at(-1)?.key ?? ""));
}

function ruleOf({ expected, received, message, type }: v.BaseIssue<unknown>): string {
  const isMissing = type === "strict_object" && received === "undefined";
  return isMissing && expected !== "Object" ? "is required" : message;
}
