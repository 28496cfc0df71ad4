import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { writeSubject } from "../../core/claims.ts";
import { normalizeLogin } from "../../core/login.ts";
import { unknownLogin } from "../../core/not-found.ts";
import { endSessionsOf } from "../../steps/access/endSessions.ts";
import { lockPerson, readPersonByLogin } from "../../storage/sql/people/people.ts";
import {
  isProvisioned,
  readPersonIdByExternalId,
  readPersonIdBySubject,
  updateExternalId,
  updateSubject,
} from "../../storage/sql/sign-in/oidc-people.ts";
import type { Transaction } from "../../storage/store.ts";

export interface PersonLink {
  readonly login: string;
  /** The provider's claim `sub`; null removes the link. */
  readonly subject: string | null;
}

/**
 * Links an account to an identity of the provider, or removes the link. For operators on the
 * server, because the link permits acting as the account.
 *
 * @throws Problem `not_found` when no account has the login; `invalid_request` without a provider,
 * or when the subject belongs to another account
 */
export async function linkPerson(
  { store, random, settings }: Pick<Context, "store" | "random" | "settings">,
  { login, subject }: PersonLink,
): Promise<void> {
  const { oidc } = settings;
  if (oidc === undefined) {
    throw new Problem("invalid_request", "No identity provider is configured. Set oidc_issuer.");
  }
  const stored = subject === null ? null : writeSubject(oidc.issuer, subject);
  await store.transact(async (tx) => {
    const found = await readPersonByLogin(tx, normalizeLogin(login) ?? "");
    const person = found && (await lockPerson(tx, "update", found.id));
    if (person === undefined) throw unknownLogin(login);
    const other = stored === null ? undefined : await readPersonIdBySubject(tx, stored);
    if (other !== undefined && other !== person.id) {
      const message = "Another account is linked to this subject.";
      throw new Problem("invalid_request", message, { param: "subject" });
    }
    if (person.oidcSubject === stored) return;
    await updateSubject(tx, person.id, stored);
    const isSubject = settings.mapping.externalIdClaim === "sub";
    await linkExternalId(tx, person.id, isSubject ? subject : null);
    const now = await tx.now();
    await appendAudit(tx, random, {
      at: now,
      projectId: "",
      kind: "person.updated",
      actor: "operator:cli",
      subject: `person:${person.id}`,
      detail: { oidc_subject: stored },
    });
    if (stored !== null) return;
    const end = { by: "operator:cli", because: "no longer linked" } as const;
    await endSessionsOf(tx, { random }, person.id, end);
  });
}

/**
 * The earlier id at the provider is no longer valid. Without a new one, the next sign-in stores it.
 */
async function linkExternalId(
  tx: Transaction,
  personId: string,
  externalId: string | null,
): Promise<void> {
  // SCIM sets it.
  if (await isProvisioned(tx, personId)) return;
  const owner = externalId === null ? undefined : await readPersonIdByExternalId(tx, externalId);
  await updateExternalId(tx, personId, owner === undefined ? externalId : null);
}
