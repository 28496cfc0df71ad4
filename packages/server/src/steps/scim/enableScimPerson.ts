import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { ScimCaller } from "../../identity/caller.ts";
import { isDisabledByScim, type StoredPerson } from "../../storage/sql/people/people.ts";
import type { Transaction } from "../../storage/store.ts";
import { writeAccess } from "../people/writeAccess.ts";

/**
 * Enables a user whose row is locked, if SCIM disabled the user.
 *
 * @throws Problem `forbidden` for a user whom the operator disabled
 */
export async function enableScimPerson(
  tx: Transaction,
  context: Pick<Context, "random">,
  { tokenId }: ScimCaller,
  person: StoredPerson,
): Promise<void> {
  if (person.disabledAt === null) return;
  if (!(await isDisabledByScim(tx, person.id))) {
    throw new Problem(
      "forbidden",
      `The operator disabled the account ${person.login}. To enable it, run ` +
        `\`countersign people enable ${person.login}\` on the server.`,
    );
  }
  await writeAccess(tx, context, person, false, `scim:${tokenId}`);
}
