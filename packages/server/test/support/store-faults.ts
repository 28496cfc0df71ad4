/**
 * Faults of the store, made from outside as an accident would make them.
 */

import { withDatabase } from "./engine.ts";
import type { TestProvider } from "./test-provider.ts";

/**
 * Takes tables away under a running server: its statements fail as wrong ones do.
 *
 * @returns puts them back
 */
export async function hideTables(
  server: TestProvider,
  ...tables: readonly string[]
): Promise<() => Promise<void>> {
  const rename = (from: (table: string) => string, to: (table: string) => string) =>
    withDatabase(server.data, async (database) => {
      for (const table of tables) {
        await database.run(`alter table ${from(table)} rename to ${to(table)}`);
      }
    });
  const hidden = (table: string): string => `hidden_${table}`;
  const shown = (table: string): string => table;
  await rename(shown, hidden);
  return () => rename(hidden, shown);
}
