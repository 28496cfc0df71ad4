import assert from "node:assert/strict";
import type { ErrorResponse, ProblemCode } from "@countersign/protocol";

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The error type of each status, as the contract and our own 405 have it. */
export const TYPE_OF_STATUS: ReadonlyMap<number, string> = new Map([
  [400, "invalid_request"],
  [401, "authentication"],
  [403, "authorization"],
  [404, "not_found"],
  [405, "invalid_request"],
  [409, "conflict"],
  [422, "invalid_request"],
  [429, "rate_limit"],
  [500, "internal"],
  [503, "dependency"],
]);

/** The part of an answer with the envelope: answers of fetch and of bare sockets alike. */
export interface AnyAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** The answer is this refusal, in the envelope of the contract and in nothing else. */
export function assertRefused(
  answer: AnyAnswer,
  status: number,
  code: ProblemCode,
  param?: string,
): void {
  assert.equal(answer.status, status, answer.text);
  const id = answer.headers.get("x-request-id");
  assert.match(id ?? "", UUID);
  assert.equal(answer.headers.get("content-type"), "application/json");
  const { error, ...others } = JSON.parse(answer.text) as ErrorResponse;
  assert.deepEqual(others, {});
  const { message, ...fields } = error;
  assert.match(message, /\S/);
  const type = TYPE_OF_STATUS.get(status);
  assert.deepEqual(fields, { type, code, ...(param && { param }), request_id: id });
}
