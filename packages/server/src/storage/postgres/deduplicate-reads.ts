/**
 * Reads that are asked more than once in one message and are answered from one: many exchanges look
 * for the same credential, and many works of one transaction for the same time.
 */

import type { Answer, Statement } from "./statement-batch.ts";

/**
 * The same statements in the same order, but each read only once: where the last one asked. Who
 * asked earlier gets what was true later, and still before an answer to anything came; behind the
 * locks that stand between, because who reads behind a lock must not be told of the time before it.
 * Reads on two sides of a write stay two.
 */
export function deduplicateReads(statements: readonly Statement[]): readonly Statement[] {
  if (statements.length === 1) return statements;
  const kept: Statement[] = [];
  let shared = new Map<string, Statement[]>();
  for (const statement of statements.toReversed()) {
    if (statement.kind !== "read") {
      if (statement.kind === "write") shared = new Map();
      kept.push(statement);
      continue;
    }
    const key = JSON.stringify([statement.text, statement.values]);
    const askers = shared.get(key);
    if (askers !== undefined) {
      askers.push(statement);
      continue;
    }
    const first = [statement];
    shared.set(key, first);
    kept.push(answering(first));
  }
  return kept.reverse();
}

/** @param askers of one read; more may come until it is sent */
function answering(askers: readonly Statement[]): Statement {
  const [{ kind, text, values, name }] = askers as readonly [Statement];
  return {
    kind,
    text,
    values,
    name,
    // Each has its own rows, so no caller changes what another one reads.
    resolve: (answer: Answer) => {
      for (const { resolve } of askers) {
        resolve({ ...answer, rows: answer.rows.map((row) => ({ ...row })) });
      }
    },
    reject: (error: unknown) => {
      for (const { reject } of askers) reject(error);
    },
  };
}
