/** Shared by tests of `countersign audit archive`. */

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** A verifier that shares no code with Countersign. */
export const VERIFIER = join(import.meta.dirname, "../../../../examples/audit-verifier/verify.mjs");

const AGE_MS = 200 * 24 * 3_600_000;

/** Makes all seals old enough to be pruned. Nothing signed has their time. */
export function ageSeals(file: string): void {
  const database = new DatabaseSync(file, { timeout: 5_000 });
  try {
    database.prepare("update audit_seal set sealed_at = sealed_at - ?").run(AGE_MS);
  } finally {
    database.close();
  }
}
