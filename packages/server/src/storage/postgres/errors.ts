/**
 * What an error of PostgreSQL or of the way to it means for us.
 *
 * @see PostgreSQL, appendix A: error codes (SQLSTATE)
 */

import { DatabaseError } from "pg";
import { Failure } from "../../failure.ts";

/**
 * serialization_failure, deadlock_detected, and invalid_sql_statement_name (what was prepared is
 * gone, and is prepared anew): undone as a whole, and may work the next time.
 */
const RETRIABLE_CODES: ReadonlySet<string> = new Set(["40001", "40P01", "26000"]);

/** Classes that mean a wrong statement, not a sick engine: syntax, constraint, data, ... */
const BUG_CLASSES: ReadonlySet<string> = new Set(["0A", "21", "22", "23", "26", "2B", "34", "42"]);

/** insufficient_privilege: what the operator can mend is no bug. */
const OPERATOR_CODES: ReadonlySet<string> = new Set(["42501"]);

/**
 * read_only_sql_transaction (a server that is no primary any more), and sessions that were ended:
 * idle_in_transaction_session_timeout, transaction_timeout, admin_shutdown and its kin.
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

/** Whether a Failure was made of an error with this SQLSTATE. */
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
 * @returns the error to throw: a Failure, or an Error that is a bug of ours. Neither holds what
 *   PostgreSQL adds about rows and parameters: they would end in a log.
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
  return new Error(`the database refused a statement (${code})`, { cause: bare(error) });
}

/** Class 22, data exceptions, repeats the value in its message. */
function bare({ code = "", message }: DatabaseError): Error {
  return new Error(code.startsWith("22") ? `SQLSTATE ${code}` : message);
}

/** For the operator, at a start that fails. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
