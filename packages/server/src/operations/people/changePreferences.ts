/** Returns and changes the preferences of a user. */

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
 * Changes preferences; missing fields stay unchanged.
 *
 * @returns all preferences
 * @throws Problem `invalid_credential` when the user no longer exists
 */
export async function changePreferences(
  { store }: Pick<Context, "store">,
  { person }: SignedIn,
  change: Partial<Preferences>,
): Promise<Preferences> {
  return store.transact(async (tx) => {
    // The lock keeps the fields of a concurrent change.
    if ((await lockPerson(tx, "update", person.id)) === undefined) {
      throw new Problem("invalid_credential");
    }
    const before = readPreferences(await readPreferencesText(tx, person.id));
    const preferences = { ...before, ...change };
    await putPreferences(tx, person.id, writePreferences(preferences), await tx.now());
    return preferences;
  });
}
