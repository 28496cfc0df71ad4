/**
 * How many tests are skipped on PostgreSQL because they are about SQLite alone, by the reason that
 * they give (`onlyOn`). The run on PostgreSQL fails when it is another number, so a test that is
 * silenced there is seen in the diff of this page.
 */
export const ONLY_ON_SQLITE: Readonly<Record<string, number>> = {
  "a file of SQLite is damaged": 22,
  "it reads the files of the data folder": 1,
  "leases of a dead replica end by time": 8,
  "replicas have their key from a setting": 13,
  "replicas share a PostgreSQL": 5,
  "schema 1 was never on PostgreSQL": 3,
  "the command backup copies a file of SQLite": 12,
  "the disk of a file of SQLite is full": 7,
  "the folder of a file of SQLite is read-only": 5,
  "the server process is on a folder; replicas: postgres-events.test.ts": 1,
  "the server process is on a folder; see postgres-crash.test.ts": 3,
  "the server process is on a folder; see postgres-extensions.test.ts": 1,
  "the server publishes its address in its data folder": 1,
  "the transaction is made to fail with its own triggers": 1,
  "requests that wait together begin in one commit": 1,
};
