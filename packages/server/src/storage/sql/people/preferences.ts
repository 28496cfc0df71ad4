/**
 * Rows of the table `preference`: what a person prefers, as core/preferences.ts writes it.
 */

import type { Reader, Transaction } from "../../store.ts";

/** @returns JSON text; undefined when nothing was ever said */
export async function readPreferencesText(
  reader: Reader,
  personId: string,
): Promise<string | undefined> {
  const row = await reader.get("select preferences from preference where person_id = $1", [
    personId,
  ]);
  return row === undefined ? undefined : (row.preferences as string);
}

export async function putPreferences(
  tx: Transaction,
  personId: string,
  text: string,
  now: number,
): Promise<void> {
  await tx.run(
    `insert into preference (person_id, preferences, changed_at) values ($1, $2, $3)
     on conflict (person_id) do update set preferences = excluded.preferences,
       changed_at = excluded.changed_at`,
    [personId, text, now],
  );
}
