import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import {
  disablePersonRow,
  enablePersonRow,
  isDisabledByScim,
  type StoredPerson,
} from "../../storage/sql/people/people.ts";
import type { Transaction } from "../../storage/store.ts";
import { endSessionsOf } from "../access/endSessions.ts";

const OPERATOR = "operator:cli";

/**
 * Disables or enables a user whose row is locked. A disabled user cannot sign in; their sessions
 * end, their tokens and chat links are rejected, and their votes and grants do not count. Only an
 * operator enables a user whom an operator disabled, before or after SCIM did.
 */
export async function writeAccess(
  tx: Transaction,
  context: Pick<Context, "random">,
  { id, disabledAt: before }: Pick<StoredPerson, "id" | "disabledAt">,
  isDisabled: boolean,
  actor: typeof OPERATOR | `scim:${string}`,
): Promise<void> {
  const isTaken = isDisabled && actor === OPERATOR && (await isDisabledByScim(tx, id));
  if ((before !== null) === isDisabled && !isTaken) return;
  const now = await tx.now();
  if (isDisabled) await disablePersonRow(tx, id, now, actor === OPERATOR ? "operator" : "scim");
  else await enablePersonRow(tx, id);
  await appendAudit(tx, context.random, {
    at: now,
    projectId: "",
    kind: "person.updated",
    actor,
    subject: `person:${id}`,
    detail: { disabled_at: isDisabled ? now : null },
  });
  if (isDisabled) await endSessionsOf(tx, context, id, { by: actor, because: "disabled" });
}
