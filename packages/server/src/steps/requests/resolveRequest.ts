/** Resolves requests: the only code that writes a decision. */

import { uuidV7 } from "@countersign/protocol";
import { type AuditEntry, appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { kindOfActor } from "../../core/actor.ts";
import { sha256Hex } from "../../core/digest.ts";
import { writeEvent } from "../../core/notification.ts";
import {
  type IntendedDecision,
  type Resolution,
  type ResolvableRequest,
  resolve,
  type StoredDecision,
  type StoredRequest,
} from "../../core/request.ts";
import { insertNotification } from "../../storage/sql/deliveries/notifications.ts";
import { readNotifyingEpoch } from "../../storage/sql/deliveries/receivers.ts";
import { insertRequest, updateDecision } from "../../storage/sql/requests/requests.ts";
import type { Transaction } from "../../storage/store.ts";
import type { Signal } from "../../wake/wake.ts";

/** The batching key of transactions that lock one request: see `Store.transactBatched`. */
export function subjectOf(key: { readonly projectId: string; readonly requestId: string }): string {
  return `request:${key.projectId} ${key.requestId}`;
}

/** The deadline passed while an approval was written: roll back, and try again. */
export class DeadlinePassed extends Error {}

export interface ResolveOptions {
  /** For the audit entry, in addition to the common fields. */
  readonly detail?: AuditEntry["detail"];
  /** Set when it was already read after the lock. */
  readonly now?: number;
}

/**
 * Resolves approval requests; only this function and {@link openResolved} do so. Every path to a
 * terminal status (verdict, deadline, cancellation, freeze, instance deletion) uses it, so
 * decision, notification and audit entry are written in one transaction or not at all.
 *
 * After its instance was deleted, the request becomes `cancelled`, whatever the intended decision.
 * A deleted instance has no receiver, so there is no notification.
 *
 * @param request as `lockForResolution` of this transaction returned it; the clock is read after it
 * @throws DeadlinePassed when the deadline passed while an approval was written; the transaction
 * must not commit
 * @see contract: States and transitions
 */
export async function resolveRequest(
  tx: Transaction,
  { random, wake }: Pick<Context, "random" | "wake">,
  request: ResolvableRequest,
  ending: IntendedDecision,
  { detail, now: read }: ResolveOptions = {},
): Promise<Resolution> {
  const now = read ?? (await tx.now());
  const resolution = resolve(request, ending, now);
  if (resolution.kind !== "resolved") return resolution;
  const { decision } = resolution;
  const epoch = readNotifyingEpoch(tx, request).then((epoch) =>
    writeNotification(tx, random, request, decision, epoch),
  );
  const [notifies] = await Promise.all([epoch, updateDecision(tx, request, decision)]);
  await appendAudit(tx, random, auditOf(request, decision, detail));
  await assertInTime(tx, request, decision);
  tx.onCommit(() => wake.signal(signalOf(request, decision, notifies)));
  return resolution;
}

/**
 * Stores a new request together with the decision of a policy, freeze or grant.
 *
 * @param request pending, at the current time
 * @param opened the audit entry of the request itself, which becomes part of that of the decision
 * @returns undefined when the key was used before; nothing is written then
 * @throws DeadlinePassed as {@link resolveRequest}
 */
export async function openResolved(
  tx: Transaction,
  { random, wake }: Pick<Context, "random" | "wake">,
  request: ResolvableRequest,
  keyHash: string,
  ending: IntendedDecision,
  opened: AuditEntry,
): Promise<StoredDecision | undefined> {
  const resolution = resolve(request, ending, request.createdAt);
  if (resolution.kind !== "resolved") throw new Error("a new request cannot be resolved already");
  const { decision } = resolution;
  const decided = { ...request, status: decision.status, decision };
  const [isInserted, epoch] = await Promise.all([
    insertRequest(tx, decided, keyHash),
    readNotifyingEpoch(tx, request),
  ]);
  if (!isInserted) return undefined;
  const [notifies] = await Promise.all([
    writeNotification(tx, random, request, decision, epoch),
    appendAudit(tx, random, auditOfBoth(request, decision, opened)),
  ]);
  await assertInTime(tx, request, decision);
  tx.onCommit(() => wake.signal(signalOf(request, decision, notifies)));
  return decision;
}

/** A locked table or a slow disk can take seconds of the window. */
async function assertInTime(
  tx: Transaction,
  { deadlineAt }: StoredRequest,
  { status, decidedAt }: StoredDecision,
): Promise<void> {
  if (status !== "approved" || decidedAt + tx.lastsMsMax < deadlineAt) return;
  // The database executes this query after all earlier writes of the transaction.
  if ((await tx.now()) >= deadlineAt) throw new DeadlinePassed();
}

function auditOf(
  request: StoredRequest,
  decision: StoredDecision,
  detail: AuditEntry["detail"] = {},
): AuditEntry {
  return {
    at: decision.decidedAt,
    projectId: request.projectId,
    kind: "request.resolved",
    actor: decision.decidedBy,
    subject: `request:${request.id}`,
    detail: {
      status: decision.status,
      tool_sha256: sha256Hex(request.tool),
      arguments_sha256: sha256Hex(request.arguments),
      deadline_at: request.deadlineAt,
      expires_at: decision.expiresAt,
      note_sha256: decision.note === null ? null : sha256Hex(decision.note),
      ...detail,
    },
  };
}

/** One entry for the opening and the decision. @see core/request-entry.ts */
function auditOfBoth(
  request: StoredRequest,
  decision: StoredDecision,
  opened: AuditEntry,
): AuditEntry {
  const resolved = auditOf(request, decision, { opened_by: opened.actor });
  return { ...resolved, detail: { ...opened.detail, ...resolved.detail } };
}

function signalOf(
  { id: requestId, projectId }: StoredRequest,
  { status, decidedBy }: StoredDecision,
  notifies: string | undefined,
): Signal {
  const by = kindOfActor(decidedBy);
  return { kind: "resolved", requestId, projectId, status, by, notifies };
}

/** @returns the instance to notify; undefined without a receiver */
async function writeNotification(
  tx: Transaction,
  random: Context["random"],
  { id: requestId, instanceId, projectId }: StoredRequest,
  { decidedAt: createdAt }: StoredDecision,
  deliveryEpoch: number | undefined,
): Promise<string | undefined> {
  if (deliveryEpoch === undefined) return undefined;
  const id = uuidV7(createdAt, random.bytes(10));
  const body = writeEvent({ id, instanceId, requestId, decidedAt: createdAt });
  const subject = { requestId, instanceId, projectId };
  await insertNotification(tx, { id, ...subject, deliveryEpoch, body, createdAt });
  return instanceId;
}
