/**
 * Classifies errors of PostgreSQL and of its connections.
 *
 * @see PostgreSQL, appendix A: error codes (SQLSTATE)
 */

import { DatabaseError } from "pg";
import { Failure } from "../../failure.ts";

/**
 * serialization_failure, deadlock_detected, and invalid_sql_statement_name (a prepared statement is
 * gone, and is prepared again): rolled back completely, and a retry may succeed.
 */
const RETRIABLE_CODES: ReadonlySet<string> = new Set(["40001", "40P01", "26000"]);

/** Classes of invalid statements, not of a failing engine: syntax, constraint, data, ... */
const BUG_CLASSES: ReadonlySet<string> = new Set(["0A", "21", "22", "23", "26", "2B", "34", "42"]);

/** insufficient_privilege: a fault that the operator can fix, not a defect. */
const OPERATOR_CODES: ReadonlySet<string> = new Set(["42501"]);

/**
 * read_only_sql_transaction (the server is no longer the primary), and terminated sessions:
 * idle_in_transaction_session_timeout, transaction_timeout, admin_shutdown and similar codes.
 */
const BREAKING_CODES: ReadonlySet<string> = new Set([
  "25006",
  "25P03",
  "25P04",
  "57P01",
  "57P02",
  "57P03",
  "57P05",
]);

/** disk_full: ENOSPC and EDQUOT. */
export const DISK_FULL = "53100";

/** True when a Failure has this SQLSTATE. */
export function isFailureOf(error: unknown, code: string): boolean {
  return error instanceof Failure && error.message === messageOf(code);
}

function messageOf(code: string): string {
  return `the database failed (${code})`;
}

export function isRetriable(error: unknown): boolean {
  return error instanceof DatabaseError && RETRIABLE_CODES.has(error.code ?? "");
}

/** Whether the connection must be closed: it broke, or its state is unknown. */
export function breaksConnection(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return true;
  const code = error.code ?? "";
  return BREAKING_CODES.has(code) || code.startsWith("08");
}

/**
 * @returns the error to throw: a Failure, or an Error for a defect. Neither contains PostgreSQL's
 * details about rows and parameters, which would be logged.
 */
export function toThrown(error: unknown): Error {
  if (error instanceof Failure) return error;
  if (!(error instanceof DatabaseError)) {
    if (error instanceof TypeError || error instanceof RangeError) return error;
    return new Failure("store", "the database cannot be reached", error);
  }
  const code = error.code ?? "";
  const isBug = BUG_CLASSES.has(code.slice(0, 2)) && !OPERATOR_CODES.has(code);
  if (!isBug) return new Failure("store", messageOf(code), bare(error));
  return new Error(`the database rejected a statement (${code})`, { cause: bare(error) });
}

/** Class 22, data exceptions, repeats the value in its message. */
function bare({ code = "", message }: DatabaseError): Error {
  return new Error(code.startsWith("22") ? `SQLSTATE ${code}` : message);
}

/** For the operator, when a start fails. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
