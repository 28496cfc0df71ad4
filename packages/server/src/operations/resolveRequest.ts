import { uuidV7 } from "@countersign/protocol";
import { type AuditEntry, appendAudit } from "../audit/append-audit.ts";
import type { Context } from "../context.ts";
import { writeEvent } from "../core/notification.ts";
import {
  type Ending,
  type Resolution,
  resolve,
  type StoredDecision,
  type StoredRequest,
} from "../core/request.ts";
import { sha256Hex } from "../secrets/keyring.ts";
import { insertNotification } from "../storage/sql/notifications.ts";
import { readNotifyingEpoch } from "../storage/sql/receivers.ts";
import { updateDecision } from "../storage/sql/requests.ts";
import type { Transaction } from "../storage/store.ts";
import type { Signal } from "../wake/wake.ts";

/** As core's resolution, with the signal to send after the commit. */
export type Ended =
  | Exclude<Resolution, { readonly kind: "resolved" }>
  | (Extract<Resolution, { readonly kind: "resolved" }> & { readonly signal: Signal });

/** While an approval was being written its deadline passed: undo it, and try again. */
export class DeadlinePassed extends Error {}

/**
 * Ends approval requests: the only function that does. Every path to a terminal status (verdict,
 * deadline, cancellation, instance deletion) comes through here, so that the decision, its
 * notification and its audit entry are written in one transaction or not at all.
 *
 * An instance that is being deleted has lost its receiver before, so nothing is notified then.
 *
 * @param request as read by a `lock` of this transaction; the clock is read after it
 * @param detail for the audit entry besides what is there of every ending
 * @throws DeadlinePassed when the writing of an approval took until its deadline; nothing of the
 *   transaction may be committed
 * @see contract: States and transitions
 */
export async function resolveRequest(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  request: StoredRequest,
  ending: Ending,
  detail: AuditEntry["detail"] = {},
): Promise<Ended> {
  const now = await tx.now();
  const resolution = resolve(request, ending, now);
  if (resolution.kind !== "resolved") return resolution;
  const { decision } = resolution;
  const [notifies] = await Promise.all([
    writeNotification(tx, random, request, decision),
    updateDecision(tx, request, decision),
  ]);
  await appendAudit(tx, random, {
    at: decision.decidedAt,
    projectId: request.projectId,
    kind: "request.resolved",
    actor: decision.decidedBy,
    subject: `request:${request.id}`,
    detail: {
      status: decision.status,
      arguments_sha256: sha256Hex(request.arguments),
      expires_at: decision.expiresAt,
      note_sha256: decision.note === null ? null : sha256Hex(decision.note),
      ...detail,
    },
  });
  const { status } = decision;
  // A table that somebody holds or a disk that is slow can take seconds of it.
  if (status === "approved" && (await tx.now()) >= request.deadlineAt) throw new DeadlinePassed();
  const { id: requestId, projectId } = request;
  const signal = { kind: "resolved", requestId, projectId, status, notifies } as const;
  return { ...resolution, signal };
}

/** @returns the instance that is to be notified; undefined when it has no receiver */
async function writeNotification(
  tx: Transaction,
  random: Context["random"],
  { id: requestId, instanceId, projectId }: StoredRequest,
  { decidedAt: createdAt }: StoredDecision,
): Promise<string | undefined> {
  const deliveryEpoch = await readNotifyingEpoch(tx, { projectId, instanceId });
  if (deliveryEpoch === undefined) return undefined;
  const id = uuidV7(createdAt, random.bytes(10));
  const body = writeEvent({ id, instanceId, requestId, decidedAt: createdAt });
  const subject = { requestId, instanceId, projectId };
  await insertNotification(tx, { id, ...subject, deliveryEpoch, body, createdAt });
  return instanceId;
}
