/**
 * The audit log: one row for every transition, written in the transaction of the transition, so
 * that neither exists without the other (promise I15). Rows contain actor, action, subject and
 * digests of the decided data. They never contain arguments, tokens or secrets.
 */

import { uuidV7 } from "@countersign/protocol";
import type { Random } from "../clock.ts";
import type { Actor } from "../core/actor.ts";
import { macOfEntry } from "../storage/sql/audit/audit-entries.ts";
import type { SqlValue, Transaction } from "../storage/store.ts";
import type { PasskeyProof } from "./passkey-proof.ts";

export type AuditKind =
  | "absence.set"
  | "absence.changed"
  | "absence.ended"
  | "request.opened"
  | "request.escalated"
  | "request.claimed"
  | "request.released"
  | "request.handed_over"
  | "request.commented"
  | "request.resolved"
  | "approval.consumed"
  | "outcome.reported"
  | "vote.cast"
  | "vote.withdrawn"
  | "verdict.held"
  | "verdict.taken_back"
  | "verdict.cast"
  | "verdict.lapsed"
  | "confirmation.missed"
  | "delivery.hurried"
  | "freeze.set"
  | "freeze.lifted"
  | "grant.made"
  | "grant.revoked"
  | "instance.provisioned"
  | "instance.updated"
  | "instance.grouped"
  | "instance.grouping_proposed"
  | "instance.credential_rotated"
  | "instance.credential_issued"
  | "instance.deleted"
  | "credential.issued"
  | "credential.revoked"
  | "passkey.added"
  | "passkey.removed"
  | "provisioner.created"
  | "reviewer.created"
  | "reviewer.updated"
  | "reviewer.removed"
  | "policy.published"
  | "policy.proposed"
  | "policy.rejected"
  | "person.created"
  | "person.updated"
  | "group.created"
  | "group.updated"
  | "group.deleted"
  | "session.begun"
  | "session.ended"
  | "signin.refused"
  | "invitation.made"
  | "invitation.used"
  | "invitation.revoked"
  | "password.changed"
  | "push.subscribed"
  | "push.removed"
  | "channel.created"
  | "channel.updated"
  | "channel.tested"
  | "channel.deleted"
  | "schedule.created"
  | "schedule.updated"
  | "schedule.deleted"
  | "chat.linked"
  | "chat.unlinked"
  | "chat.refused"
  | "history.exported"
  | "delivery.ended"
  | "rows.erased"
  | "secret_key.rotated"
  | "database.imported"
  | "audit.begun"
  | "audit.pruned";

/** The field `requirement` of the opening of a request: the requirement for approvers. */
export interface RecordedRequirement {
  readonly confirm: "click" | "type" | "match" | "passkey";
  /** Number of different reviewers. */
  readonly quorum: number;
  /** Sets of "group:x" and "reviewer:y". Each set must have an approver. */
  readonly from: readonly (readonly string[])[];
  /** Number of different reviewers for each set of `from`; absent: one each. */
  readonly quorums?: readonly number[] | undefined;
  readonly exclude_owner: boolean;
  readonly note: boolean;
  readonly grants: boolean;
  readonly bots: boolean;
  /** Where approvals are permitted; absent: everywhere. */
  readonly channels?: readonly string[] | undefined;
  /** Absent: none. */
  readonly escalate?: readonly RecordedEscalation[] | undefined;
}

export interface RecordedEscalation {
  readonly after_ms: number;
  /** "group:x" */
  readonly to: string;
  /** Indices in `from` of the sets that the group joins. */
  readonly widens: readonly number[];
}

export interface AuditEntry {
  /** Epoch ms of the transition. */
  readonly at: number;
  readonly projectId: string;
  readonly kind: AuditKind;
  readonly actor: Actor;
  /** `kind:id` of the changed object. */
  readonly subject: string;
  /** Fields that are undefined are omitted. */
  readonly detail?: Readonly<Record<string, AuditDetail>>;
}

type AuditDetail =
  | string
  | number
  | null
  | undefined
  | readonly string[]
  | PasskeyProof
  | RecordedRequirement;

export async function appendAudit(
  tx: Transaction,
  random: Random,
  entry: AuditEntry,
): Promise<void> {
  await appendAuditAs(tx, uuidV7(entry.at, random.bytes(10)), entry);
}

/** For an entry that another row names. */
export async function appendAuditAs(tx: Transaction, id: string, entry: AuditEntry): Promise<void> {
  await tx.insert(
    `insert into audit_entry (id, at, project_id, kind, actor, subject, detail, mac)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    toValues(tx, entry, id),
  );
}

function toValues(
  { integrity }: Transaction,
  { at, projectId, kind, actor, subject, detail = {} }: AuditEntry,
  id: string,
): SqlValue[] {
  const text = JSON.stringify(detail);
  const mac = macOfEntry(integrity, { projectId, id, at, kind, actor, subject, detail: text });
  return [id, at, projectId, kind, actor, subject, text, mac];
}
