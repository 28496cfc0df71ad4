/** Sets and ends the absence of a reviewer. An absence changes who is notified, not who decides. */

import { formatTimestamp, invalidField, Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { type Absence, periodFault } from "../../core/absence.ts";
import { isAbove, roleAboveMessage } from "../../core/delegation.ts";
import { allows } from "../../core/roles.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { currentCaller } from "../../steps/access/currentCaller.ts";
import { readActiveReviewers } from "../../steps/access/readActiveReviewers.ts";
import {
  lockProject,
  lockReviewer,
  readReviewerByName,
  type StoredReviewer,
} from "../../storage/sql/access/holders.ts";
import { deleteAbsence, readAbsence, writeAbsence } from "../../storage/sql/people/absences.ts";
import { wakeUnsentPushes } from "../../storage/sql/push/push-messages.ts";
import type { Transaction } from "../../storage/store.ts";

export interface AbsenceOrder {
  /** Epoch ms. */
  readonly from: number;
  readonly until: number;
  /** Name of a reviewer. */
  readonly substitute: string | undefined;
}

/**
 * Sets the absence of a reviewer, and replaces a present or future one.
 *
 * @param id the reviewer; undefined: the caller
 * @throws Problem `forbidden`; `not_found`; `invalid_request` naming the field
 */
export async function setAbsence(
  { store, random }: Pick<Context, "store" | "random">,
  caller: ReviewerCaller,
  { from, until, substitute }: AbsenceOrder,
  id: string = caller.reviewerId,
): Promise<void> {
  const { projectId } = caller;
  await store.transact(async (tx) => {
    const reviewer = await lockAbsentee(tx, caller, id);
    if (reviewer.isBot) throw new Problem("forbidden", "Bots cannot be absent.");
    const now = await tx.now();
    const fault = periodFault({ from, until }, now);
    if (fault !== undefined) throw invalidField(fault.field, fault.rule);
    const substituteId = await substituteIdOf(tx, projectId, reviewer, substitute, now);
    const before = await readAbsence(tx, { projectId, id }, now);
    const absence: Absence = { reviewerId: id, from, until, substituteId };
    await writeAbsence(tx, projectId, absence);
    await wake(tx, reviewer, now);
    await appendAudit(tx, random, {
      at: now,
      projectId,
      kind: before === undefined ? "absence.set" : "absence.changed",
      actor: `reviewer:${caller.reviewerId}`,
      subject: `reviewer:${id}`,
      detail: detailOf(absence),
    });
  });
}

/**
 * Ends a present or future absence.
 *
 * @param id the reviewer; undefined: the caller
 * @returns false when there was none
 * @throws Problem `forbidden`; `not_found`
 */
export async function endAbsence(
  { store, random }: Pick<Context, "store" | "random">,
  caller: ReviewerCaller,
  id: string = caller.reviewerId,
): Promise<boolean> {
  const { projectId } = caller;
  return store.transact(async (tx) => {
    const reviewer = await lockAbsentee(tx, caller, id);
    const now = await tx.now();
    const absence = await readAbsence(tx, { projectId, id }, now);
    if (absence === undefined) return false;
    await deleteAbsence(tx, { projectId, id });
    await wake(tx, reviewer, now);
    await appendAudit(tx, random, {
      at: now,
      projectId,
      kind: "absence.ended",
      actor: `reviewer:${caller.reviewerId}`,
      subject: `reviewer:${id}`,
      detail: detailOf(absence),
    });
    return true;
  });
}

/** Locks the project first, as all changes of people do. */
async function lockAbsentee(
  tx: Transaction,
  caller: ReviewerCaller,
  id: string,
): Promise<StoredReviewer> {
  const { projectId, reviewerId } = caller;
  const power = id === reviewerId ? "decide" : "people";
  assertMay(caller, power);
  await lockProject(tx, projectId);
  const reviewer = await lockReviewer(tx, "update", { projectId, id });
  const current = await currentCaller(tx, caller);
  assertMay(current, power);
  if (reviewer === undefined || reviewer.removedAt !== null) throw new Problem("not_found");
  if (isAbove(reviewer.role, current.role)) {
    throw new Problem("forbidden", roleAboveMessage(reviewer.role));
  }
  return reviewer;
}

/** @throws Problem `invalid_request` naming the field */
async function substituteIdOf(
  tx: Transaction,
  projectId: string,
  absentee: StoredReviewer,
  name: string | undefined,
  now: number,
): Promise<string | null> {
  if (name === undefined) return null;
  const found = await readReviewerByName(tx, projectId, name);
  const [active] = found ? await readActiveReviewers(tx, projectId, [found.id], now) : [];
  if (active === undefined || active.isBot || !allows(active.role, "decide")) {
    throw invalidField("substitute", "must be the name of a user who may decide in this project");
  }
  if (active.id === absentee.id) throw invalidField("substitute", "must be another reviewer");
  return active.id;
}

/** Sends messages that the earlier absence delayed. */
async function wake(tx: Transaction, { personId }: StoredReviewer, now: number): Promise<void> {
  if (personId !== null) await wakeUnsentPushes(tx, personId, now);
}

function detailOf({ from, until, substituteId }: Absence) {
  return {
    from: formatTimestamp(from),
    until: formatTimestamp(until),
    substitute: substituteId === null ? undefined : `reviewer:${substituteId}`,
  };
}
