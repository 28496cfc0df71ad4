/** Removes a push subscription, with its audit entry. */

import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { StoredSubscription } from "../../core/push.ts";
import { touchActiveState } from "../../storage/sql/active-state-stamp.ts";
import { SERVER } from "../../storage/sql/keys.ts";
import { readProjectsOfPerson } from "../../storage/sql/push/push-messages.ts";
import { deleteSubscription } from "../../storage/sql/push/push-subscriptions.ts";
import type { Transaction } from "../../storage/store.ts";

/** Removes a browser that its push service no longer knows. */
export function removeGoneSubscription(
  tx: Transaction,
  random: Context["random"],
  known: StoredSubscription,
): Promise<void> {
  return removeSubscription(tx, random, known, "system:delivery");
}

export async function removeSubscription(
  tx: Transaction,
  random: Context["random"],
  { id, personId }: StoredSubscription,
  actor: `person:${string}` | "system:delivery",
): Promise<void> {
  await deleteSubscription(tx, id);
  await touchProjects(tx, personId);
  await appendAudit(tx, random, {
    at: await tx.now(),
    projectId: SERVER,
    kind: "push.removed",
    actor,
    subject: `push_subscription:${id}`,
    detail: { person_id: personId },
  });
}

/** Updates the stamp, because the active state includes whether browsers receive announcements. */
export async function touchProjects(tx: Transaction, personId: string): Promise<void> {
  const projects = await readProjectsOfPerson(tx, personId);
  for (const projectId of projects.sort()) await touchActiveState(tx, projectId);
}
