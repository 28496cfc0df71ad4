/**
 * Faults of the store, made from outside as an accident would make them.
 */

import { DatabaseSync } from "node:sqlite";
import { databaseFile } from "../../src/index.ts";
import type { TestProvider } from "./test-provider.ts";

/**
 * Takes tables away under a running server: its statements fail as wrong ones do.
 *
 * @returns puts them back
 */
export function hideTables(server: TestProvider, ...tables: readonly string[]): () => void {
  const rename = (from: (table: string) => string, to: (table: string) => string): void => {
    const database = new DatabaseSync(databaseFile(server.data));
    for (const table of tables) {
      database.exec(`alter table ${from(table)} rename to ${to(table)}`);
    }
    database.close();
  };
  const hidden = (table: string): string => `hidden_${table}`;
  const shown = (table: string): string => table;
  rename(shown, hidden);
  return () => rename(hidden, shown);
}
