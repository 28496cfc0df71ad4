import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { updatePasswordHash } from "../../storage/sql/people/people.ts";
import type { Transaction } from "../../storage/store.ts";

/** Stores a password hash, with its audit entry. */
export async function setPassword(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  personId: string,
  hash: string,
): Promise<void> {
  await updatePasswordHash(tx, personId, hash);
  await appendAudit(tx, random, {
    at: await tx.now(),
    projectId: "",
    kind: "password.changed",
    actor: `person:${personId}`,
    subject: `person:${personId}`,
  });
}
