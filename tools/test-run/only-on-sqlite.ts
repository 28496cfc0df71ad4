/**
 * How many tests are skipped on PostgreSQL because they are about SQLite alone, by the reason that
 * they give (`onlyOn`). The run on PostgreSQL fails when it is another number, so a test that is
 * silenced there is seen in the diff of this page.
 *
 * Called by: run-tests.ts.
 */
export const ONLY_ON_SQLITE: Readonly<Record<string, number>> = {
  "the command backup copies a file of SQLite": 7,
  "the transaction is made to fail with its own triggers": 1,
};
