/** Shows and changes the preferences of a person. */

import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { type Preferences, readPreferences, writePreferences } from "../../core/preferences.ts";
import type { SignedIn } from "../../identity/caller.ts";
import { lockPerson } from "../../storage/sql/people/people.ts";
import { putPreferences, readPreferencesText } from "../../storage/sql/people/preferences.ts";

export async function showPreferences(
  { store }: Pick<Context, "store">,
  { person }: SignedIn,
): Promise<Preferences> {
  return readPreferences(await readPreferencesText(store, person.id));
}

/**
 * Changes what a person prefers; what is not said stays.
 *
 * @returns all of it, as it then is
 * @throws Problem `invalid_credential` when the person is gone
 */
export async function changePreferences(
  { store }: Pick<Context, "store">,
  { person }: SignedIn,
  change: Partial<Preferences>,
): Promise<Preferences> {
  return store.transact(async (tx) => {
    // Of two changes at the same time the second keeps what the first one said.
    if ((await lockPerson(tx, "update", person.id)) === undefined) {
      throw new Problem("invalid_credential");
    }
    const before = readPreferences(await readPreferencesText(tx, person.id));
    const preferences = { ...before, ...change };
    await putPreferences(tx, person.id, writePreferences(preferences), await tx.now());
    return preferences;
  });
}
