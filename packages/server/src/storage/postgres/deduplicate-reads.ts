/**
 * Deduplicates reads within one message: many exchanges look up the same credential, and many
 * transactions of a group read the same time.
 */

import type { Answer, Statement } from "./statement-batch.ts";

/**
 * The same statements in the same order, with each repeated read executed once, at its last
 * position. Earlier callers then receive a later state, which is still from before any answer. The
 * last position is after the locks in between, so a read after a lock never returns an older state.
 * Reads on two sides of a write are not merged.
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

/** @param askers callers of one read; more may join until it is sent */
function answering(askers: readonly Statement[]): Statement {
  const [{ kind, text, values, name }] = askers as readonly [Statement];
  return {
    kind,
    text,
    values,
    name,
    // Each caller has its own rows, so none changes another's.
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
