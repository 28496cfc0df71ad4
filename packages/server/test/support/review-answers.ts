/** Holds the answers of the reviewer API against its table of operations. */

import assert from "node:assert/strict";
import {
  type AnswerStatus,
  type Operation,
  possibleErrors,
  REVIEW_OPERATIONS,
  REVIEW_PATH,
} from "@countersign/review-api";
import * as v from "valibot";

interface Pattern {
  readonly row: Operation;
  readonly path: RegExp;
}

const PATTERNS: readonly Pattern[] = Object.values<Operation>(REVIEW_OPERATIONS)
  // Literal paths come before those with parameters, as in a router.
  .sort((a, b) => Number(a.path.includes("{")) - Number(b.path.includes("{")))
  .map((row) => ({
    row,
    path: new RegExp(`^${REVIEW_PATH}${row.path.replace(/\{\w+\}/g, "[^/]+")}$`),
  }));

/**
 * Asserts that the table declares an answer: its status, each member of its body, or its error.
 *
 * @param body undefined for a stream, or where there is no body
 */
export function assertDeclared(method: string, path: string, status: number, body: unknown): void {
  const [pathname = ""] = path.split("?");
  const found = PATTERNS.find(({ row, path }) => row.method === method && path.test(pathname));
  if (found === undefined) return;
  const where = `${method} ${found.row.path} answers ${status}`;
  if (status >= 400) assertError(found.row, body, where);
  else assertAnswer(found.row, status, body, where);
}

function assertAnswer(row: Operation, status: number, body: unknown, where: string): void {
  const answer = row.answers[status as AnswerStatus];
  assert.notEqual(answer, undefined, `${where}, which the table does not declare`);
  if (answer === null || answer === undefined || "stream" in answer) return;
  const parsed = v.safeParse(answer, body);
  const issues = parsed.issues?.map((issue) => `${v.getDotPath(issue)}: ${issue.message}`);
  assert.deepEqual(issues ?? [], [], `${where} with a body that the table does not declare`);
  // Parsing leaves out members that are not declared.
  assert.deepEqual(parsed.output, body, `${where} with undeclared members`);
}

function assertError(row: Operation, body: unknown, where: string): void {
  const { error } = (body ?? {}) as { readonly error?: { readonly code?: string } };
  const codes: readonly string[] = possibleErrors(row);
  assert.ok(
    codes.includes(error?.code ?? ""),
    `${where} ${error?.code}, which the table does not declare`,
  );
}
