/**
 * One run of one transaction on one connection: BEGIN, the works, COMMIT.
 *
 * Several works may share it. They run concurrently, so that simultaneous queries are sent in one
 * message. The transaction commits for all of them or is rolled back for all of them.
 */

import { Failure } from "../../failure.ts";
import type { Transaction } from "../store.ts";
import type { Connection } from "./connections.ts";
import { breaksConnection, isRetriable, toThrown } from "./errors.ts";
import { PostgresTransaction, type TransactionParts } from "./postgres-transaction.ts";

export type Work<T> = (tx: Transaction) => Promise<T>;

export type Result<T> = { readonly value: T } | { readonly error: unknown };

export type Outcome<T> =
  /** Every work has its result. An error was thrown before the work wrote anything. */
  | { readonly kind: "ended"; readonly results: readonly Result<T>[] }
  /** Rolled back completely for a temporary reason. */
  | { readonly kind: "again"; readonly error: unknown }
  /** Rolled back completely because of one of the works. */
  | { readonly kind: "undone"; readonly error: unknown }
  /** It is unknown whether it was committed. */
  | { readonly kind: "unknown"; readonly error: Failure };

const BEGIN = "begin isolation level read committed";

/** Runs the works on the connection and releases it. */
export async function runWorks<T>(
  connection: Connection,
  parts: TransactionParts,
  works: readonly Work<T>[],
): Promise<Outcome<T>> {
  // Sent together with the first statement of the work, which waits for both answers.
  const begun = connection.query("write", BEGIN, []).then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  const options = { ...parts, works: works.length, begun };
  const transactions = works.map(() => new PostgresTransaction(connection, options));
  const results = await Promise.all(
    works.map((work, i) => resultOf(work(transactions[i] as PostgresTransaction))),
  );
  for (const transaction of transactions) transaction.end();
  const unbegun = await begun;
  if (unbegun !== undefined) {
    connection.discard();
    // The connection broke while it was idle; another one may work.
    return { kind: "again", error: unbegun.error };
  }
  const isSound = transactions.every(({ fault }) => fault === undefined);
  const areWorthIt = results.some((result) => "value" in result);
  const unwanted = results.find((result, i) => "error" in result && transactions[i]?.hasWritten);
  if (isSound && areWorthIt && unwanted === undefined) {
    return commit(connection, transactions, results);
  }
  await settled(transactions);
  const fault = faultOf(transactions);
  await rollBack(connection, fault?.error);
  if (fault === undefined && unwanted === undefined) return { kind: "ended", results };
  if (fault !== undefined && isRetriable(fault.error)) return { kind: "again", ...fault };
  return { kind: "undone", error: errorOf(results) ?? toThrown(fault?.error) };
}

function resultOf<T>(worked: Promise<T>): Promise<Result<T>> {
  return worked.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
}

function errorOf(results: readonly Result<unknown>[]): unknown {
  const failed = results.find((result) => "error" in result);
  return failed !== undefined && "error" in failed ? failed.error : undefined;
}

/** The first error from the database, over all works. */
function faultOf(transactions: readonly PostgresTransaction[]): { error: unknown } | undefined {
  return transactions.find(({ fault }) => fault !== undefined)?.fault;
}

async function settled(transactions: readonly PostgresTransaction[]): Promise<void> {
  await Promise.all(transactions.map((transaction) => transaction.settled()));
}

/**
 * Sends COMMIT after the writes that were not awaited. From here on, a broken connection leaves the
 * outcome unknown. A rejected statement does not: the server skips a COMMIT after it, or answers
 * with a rollback.
 */
async function commit<T>(
  connection: Connection,
  transactions: readonly PostgresTransaction[],
  results: readonly Result<T>[],
): Promise<Outcome<T>> {
  const committing = connection.query("write", "commit", []).catch((error: unknown) => ({ error }));
  const [committed] = await Promise.all([committing, settled(transactions)]);
  if (!("error" in committed)) {
    connection.release();
    if (committed.command === "COMMIT") return ended(transactions, results);
    const fault = faultOf(transactions);
    return undone(fault?.error ?? new Failure("store", "a transaction was undone"));
  }
  const { error } = committed;
  if (!breaksConnection(error)) {
    await rollBack(connection, undefined);
    return undone(error);
  }
  connection.release(error);
  const message = "the connection broke during a commit: its outcome is unknown";
  return { kind: "unknown", error: new Failure("store", message, error) };
}

/** Runs the hooks of the committed works. */
function ended<T>(
  transactions: readonly PostgresTransaction[],
  results: readonly Result<T>[],
): Outcome<T> {
  const settled = results.map((result, i): Result<T> => {
    try {
      if ("value" in result) transactions[i]?.hooks.run();
      return result;
    } catch (error) {
      return { error };
    }
  });
  return { kind: "ended", results: settled };
}

/** The outcome of a rolled-back transaction. */
function undone(error: unknown): Outcome<never> {
  return isRetriable(error) ? { kind: "again", error } : { kind: "undone", error: toThrown(error) };
}

/** If a rollback is impossible, it closes the connection, which also rolls back. */
async function rollBack(connection: Connection, fault: unknown): Promise<void> {
  if (fault !== undefined && breaksConnection(fault)) return connection.release(fault);
  try {
    await connection.query("write", "rollback", []);
    connection.release();
  } catch {
    connection.discard();
  }
}
