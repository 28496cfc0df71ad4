import { Problem } from "@countersign/protocol";
import type { Context } from "../context.ts";
import { normalizeLogin } from "../core/login.ts";
import { deleteOpenInvitationsFor } from "../storage/sql/invitations.ts";
import { readPersonByLogin } from "../storage/sql/people.ts";
import { makeLink } from "./makeLink.ts";

/**
 * Makes a link with which a person comes back who lost what they signed in with; it ends those
 * before.
 *
 * @returns what stands in it
 * @throws Problem `not_found`; `forbidden` for somebody disabled
 */
export async function makeReturnLink(
  { store, random }: Pick<Context, "store" | "random">,
  login: string,
): Promise<string> {
  return store.transact(async (tx) => {
    const person = await readPersonByLogin(tx, normalizeLogin(login) ?? "");
    if (person === undefined) throw new Problem("not_found", "Nobody signs in with this login.");
    if (person.disabledAt !== null) throw new Problem("forbidden", "This person is disabled.");
    const replaced = await deleteOpenInvitationsFor(tx, person.id);
    const { id: personId, name } = person;
    const createdBy = "operator:cli";
    // It makes nobody a reviewer; the role is there because each row has one.
    const who = { projectId: "", personId, name, role: "viewer", createdBy } as const;
    return makeLink(tx, { random }, who, replaced);
  });
}
