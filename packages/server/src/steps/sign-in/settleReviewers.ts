/**
 * Sets the roles and groups of a user as the identity provider gives them: a reviewer in each
 * project with a role. The provider overrides manual changes, except that a manually removed
 * reviewer stays removed.
 */

import { Problem, uuidV7 } from "@countersign/protocol";
import { type AuditEntry, appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { Actor } from "../../core/actor.ts";
import type { ClaimedPerson, ClaimMapping, Membership } from "../../core/claims.ts";
import { allows, type ReviewerRole } from "../../core/roles.ts";
import { ensureProject } from "../../storage/sql/access/holders.ts";
import type { StoredPerson } from "../../storage/sql/people/people.ts";
import {
  insertManagedReviewer,
  listPersonsReviewers,
  type PersonsReviewer,
  removeManaged,
  updateManaged,
} from "../../storage/sql/sign-in/oidc-people.ts";
import type { Transaction } from "../../storage/store.ts";
import { isLastAdmin } from "../people/isLastAdmin.ts";
import { newProjectId } from "../tokens/newProjectId.ts";

export interface Settling {
  readonly tx: Transaction;
  readonly context: Pick<Context, "random" | "settings" | "onLastAdminLost">;
  readonly claimed: Pick<ClaimedPerson, "groups" | "memberships">;
  readonly now: number;
  readonly actor: Actor;
  /** True for a disabled user, who has no power to lose. */
  readonly isDisabled: boolean;
}

/**
 * The row of the user is locked.
 *
 * @returns the ids of the projects in which the user now has a role, in the order of the mappings
 * @throws Problem `sign_in_refused` when a reviewer's name is taken; the transaction must not
 * commit then
 */
export async function settleReviewers(
  settling: Settling,
  person: Pick<StoredPerson, "id" | "login">,
): Promise<string[]> {
  const { tx, context, claimed, now } = settling;
  const reviewers = await listPersonsReviewers(tx, person.id);
  const settled: string[] = [];
  for (const membership of claimed.memberships) {
    const newId = newProjectId(context.random);
    const projectId = await ensureProject(tx, membership.project, newId, now);
    const there = reviewers.filter((reviewer) => reviewer.projectId === projectId);
    const isAssigned = await assignMembership(
      settling,
      person,
      { ...membership, projectId },
      there,
    );
    if (isAssigned) settled.push(projectId);
  }
  const others = reviewers.filter(({ projectId, removedAt }) => {
    return removedAt === null && !settled.includes(projectId);
  });
  for (const reviewer of others) {
    if (isOurs(reviewer, context.settings.mapping)) settled.push(reviewer.projectId);
    else await removeMembership(settling, reviewer);
  }
  return settled;
}

/** True when the reviewer is managed on this server and not by the provider. */
function isOurs({ isManaged, projectName }: PersonsReviewer, mapping: ClaimMapping): boolean {
  const mapped = mapping.roles.map(({ project }) => project);
  return !isManaged && ![...mapped, mapping.project].includes(projectName);
}

/** @returns false when the reviewer was removed manually */
async function assignMembership(
  settling: Settling,
  person: Pick<StoredPerson, "id" | "login">,
  { projectId, role }: Membership & { readonly projectId: string },
  there: readonly PersonsReviewer[],
): Promise<boolean> {
  const { tx, claimed } = settling;
  const { groups } = claimed;
  const reviewer =
    there.find(({ removedAt }) => removedAt === null) ?? there.find(({ isManaged }) => isManaged);
  if (reviewer === undefined) {
    if (there.length > 0) return false;
    await makeReviewer(settling, person, { projectId, role });
    return true;
  }
  const after = { ...reviewer, role, groups };
  const isLast = !allows(role, "people") && (await losesLastAdmin(settling, reviewer));
  if (!(await updateManaged(tx, after))) return false;
  const isSame =
    reviewer.removedAt === null &&
    reviewer.role === role &&
    reviewer.groups.join() === groups.join();
  if (isSame) return true;
  const subject = `reviewer:${reviewer.id}`;
  await appendEntry(settling, {
    kind: "reviewer.updated",
    projectId,
    subject,
    detail: withLastAdmin({ role, groups }, reviewer, isLast),
  });
  return true;
}

/** Uses the unique login as the name, because policies can name reviewers. */
async function makeReviewer(
  settling: Settling,
  { id: personId, login: name }: Pick<StoredPerson, "id" | "login">,
  { projectId, role }: { readonly projectId: string; readonly role: ReviewerRole },
): Promise<void> {
  const { tx, context, claimed, now } = settling;
  const { groups } = claimed;
  const id = uuidV7(now, context.random.bytes(10));
  const order = { id, projectId, role, groups };
  if (!(await insertManagedReviewer(tx, order, { personId, name, now }))) {
    throw new Problem(
      "sign_in_refused",
      `Another reviewer of a project has the name ${name}. Ask the operator to link the ` +
        "accounts: see the guide to signing in at a provider.",
    );
  }
  const detail = { role, groups, person_id: personId };
  await appendEntry(settling, {
    kind: "reviewer.created",
    projectId,
    subject: `reviewer:${id}`,
    detail,
  });
}

const BECAUSE = { because: "the identity provider gives no role" };

async function removeMembership(settling: Settling, reviewer: PersonsReviewer): Promise<void> {
  const { tx, now } = settling;
  const isLast = await losesLastAdmin(settling, reviewer);
  if (!(await removeManaged(tx, reviewer, now))) return;
  const { id, projectId } = reviewer;
  await appendEntry(settling, {
    kind: "reviewer.removed",
    projectId,
    subject: `reviewer:${id}`,
    detail: withLastAdmin(BECAUSE, reviewer, isLast),
  });
}

async function losesLastAdmin(
  { tx, context, actor, isDisabled }: Settling,
  reviewer: PersonsReviewer,
): Promise<boolean> {
  return !isDisabled && (await isLastAdmin(tx, context, reviewer, actor));
}

function withLastAdmin(
  detail: NonNullable<AuditEntry["detail"]>,
  { projectName }: PersonsReviewer,
  isLast: boolean,
): NonNullable<AuditEntry["detail"]> {
  return isLast ? { ...detail, last_admin_of: projectName } : detail;
}

function appendEntry(
  { tx, context, now, actor }: Settling,
  entry: Omit<AuditEntry, "at" | "projectId" | "actor"> & { readonly projectId: string },
): Promise<void> {
  return appendAudit(tx, context.random, { ...entry, at: now, actor });
}
