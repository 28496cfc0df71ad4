import type { Context } from "../../context.ts";
import type { ReviewerRole } from "../../core/roles.ts";
import { isOpaque } from "../../secrets/opaque.ts";
import { hashToken } from "../../secrets/token.ts";
import {
  assertInvitationUsable,
  INVITATION_NOT_FOUND,
} from "../../steps/sign-in/assertInvitationUsable.ts";
import { readProjectName } from "../../storage/sql/access/holders.ts";
import { readPerson } from "../../storage/sql/people/people.ts";
import { readInvitationByHash } from "../../storage/sql/sign-in/invitations.ts";

/** The purpose of a link, for its page. */
export interface OpenInvitation {
  /** `setup`: the first user of the server; `return`: a user who lost all credentials. */
  readonly kind: "setup" | "join" | "return";
  /** Null for a returning user. */
  readonly project: string | null;
  readonly role: ReviewerRole | null;
  readonly groups: readonly string[];
  /** Name of the future reviewer or returning user; empty when the user may choose it. */
  readonly name: string;
  /** Login of a returning user. */
  readonly login: string | null;
  readonly expiresAt: number;
}

/**
 * Reads a link without using it.
 *
 * @throws Problem `not_found`, also for a used, expired or revoked one
 */
export async function openInvitation(
  { store, clock }: Pick<Context, "store" | "clock">,
  token: string,
): Promise<OpenInvitation> {
  const invitation = isOpaque(token)
    ? await readInvitationByHash(store, hashToken(token))
    : undefined;
  const { projectId, personId, name, role, groups, expiresAt } = await assertInvitationUsable(
    store,
    invitation,
    clock.now(),
  );
  if (personId !== null) {
    const person = await readPerson(store, personId);
    if (person === undefined || person.disabledAt !== null) throw INVITATION_NOT_FOUND;
    const { login } = person;
    const what = { kind: "return", project: null, role: null, groups: [] } as const;
    return { ...what, name: person.name, login, expiresAt };
  }
  const project = await readProjectName(store, projectId);
  if (project === undefined) throw INVITATION_NOT_FOUND;
  const kind = invitation?.createdBy === "system:setup" ? "setup" : "join";
  return { kind, project, role, groups, name, login: null, expiresAt };
}
