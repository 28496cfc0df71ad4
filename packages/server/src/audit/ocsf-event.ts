/**
 * An audit entry as an event of the Open Cybersecurity Schema Framework (OCSF) 1.8.0: class API
 * Activity (6003) with the profiles AI Operation and Security Control.
 *
 * @see https://schema.ocsf.io/1.8.0/classes/api_activity?profiles=ai_operation,security_control
 */

import { readEntry, writeEntry } from "../core/audit-line.ts";
import { requestIdOf } from "../core/request-entry.ts";
import type { AuditKind } from "./append-audit.ts";
import type { SealedEntry } from "./sealed-entries.ts";

const SCHEMA_VERSION = "1.8.0";

const CATEGORY_UID = 6;
const CLASS_UID = 6003;

/** Values of `activity_id` with their captions. */
const ACTIVITIES = {
  create: { id: 1, caption: "Create" },
  read: { id: 2, caption: "Read" },
  update: { id: 3, caption: "Update" },
  delete: { id: 4, caption: "Delete" },
  other: { id: 99, caption: "Other" },
} as const;

type Activity = keyof typeof ACTIVITIES;

const KINDS: Readonly<Record<AuditKind, Activity>> = {
  "absence.set": "create",
  "absence.changed": "update",
  "absence.ended": "delete",
  "request.opened": "create",
  "request.escalated": "update",
  "request.claimed": "update",
  "request.released": "update",
  "request.handed_over": "update",
  "request.commented": "update",
  "request.resolved": "update",
  "approval.consumed": "update",
  "outcome.reported": "update",
  "vote.cast": "create",
  "vote.withdrawn": "delete",
  "verdict.held": "create",
  "verdict.taken_back": "delete",
  "verdict.cast": "update",
  "verdict.lapsed": "delete",
  "confirmation.missed": "other",
  "delivery.hurried": "update",
  "freeze.set": "create",
  "freeze.lifted": "delete",
  "grant.made": "create",
  "grant.revoked": "delete",
  "group.created": "create",
  "group.updated": "update",
  "group.deleted": "delete",
  "instance.provisioned": "create",
  "instance.updated": "update",
  "instance.grouped": "update",
  "instance.grouping_proposed": "create",
  "instance.credential_rotated": "update",
  "instance.credential_issued": "create",
  "instance.deleted": "delete",
  "credential.issued": "create",
  "credential.revoked": "delete",
  "passkey.added": "create",
  "passkey.removed": "delete",
  "provisioner.created": "create",
  "reviewer.created": "create",
  "reviewer.updated": "update",
  "reviewer.removed": "delete",
  "policy.published": "update",
  "policy.proposed": "create",
  "policy.rejected": "delete",
  "person.created": "create",
  "person.updated": "update",
  "session.begun": "create",
  "session.ended": "delete",
  "signin.refused": "other",
  "invitation.made": "create",
  "invitation.used": "update",
  "invitation.revoked": "delete",
  "password.changed": "update",
  "push.subscribed": "create",
  "push.removed": "delete",
  "channel.created": "create",
  "channel.updated": "update",
  "channel.tested": "other",
  "channel.deleted": "delete",
  "schedule.created": "create",
  "schedule.updated": "update",
  "schedule.deleted": "delete",
  "chat.linked": "create",
  "chat.unlinked": "delete",
  "chat.refused": "other",
  "history.exported": "read",
  "delivery.ended": "update",
  "rows.erased": "delete",
  "secret_key.rotated": "update",
  "database.imported": "create",
  "audit.begun": "create",
  "audit.pruned": "delete",
};

/** Kinds that record a rejected attempt of a user. */
const FAILURES: ReadonlySet<string> = new Set<AuditKind>([
  "signin.refused",
  "confirmation.missed",
  "chat.refused",
  "verdict.lapsed",
]);

const SEVERITIES = {
  informational: { id: 1, caption: "Informational" },
  low: { id: 2, caption: "Low" },
  medium: { id: 3, caption: "Medium" },
} as const;

/** Values of `action_id` and `disposition_id` of a request, by its status. */
const DECISIONS: Readonly<Record<string, object>> = {
  approved: {
    action_id: 1,
    action: "Allowed",
    disposition_id: 8,
    disposition: "Approved",
  },
  denied: {
    action_id: 2,
    action: "Denied",
    disposition_id: 2,
    disposition: "Blocked",
  },
  // The call does not run.
  expired: {
    action_id: 2,
    action: "Denied",
    disposition_id: 99,
    disposition: "Expired",
  },
  cancelled: {
    action_id: 2,
    action: "Denied",
    disposition_id: 99,
    disposition: "Cancelled",
  },
};

/** Values of `type_id` of a user, by the kind of an actor. */
const USER_TYPES: Readonly<Record<string, { readonly id: number; readonly caption: string }>> = {
  reviewer: { id: 1, caption: "User" },
  person: { id: 1, caption: "User" },
  operator: { id: 2, caption: "Admin" },
  provisioner: { id: 4, caption: "Service" },
  instance: { id: 4, caption: "Service" },
};

const SYSTEM = { id: 3, caption: "System" };

const PRODUCT = "Countersign";

/** Value of `ai_role_id`: the request is a tool call. */
const TOOL = { ai_role_id: 3, ai_role: "Tool" };

/**
 * One line of JSON. `raw_data` is the exact text of the entry, so its hash is the leaf of the log.
 *
 * @param productVersion of this server
 */
export function writeOcsfEvent(
  { origin, position, entry }: SealedEntry,
  productVersion: string,
): string {
  const raw = writeEntry(entry);
  const { id, at, kind, actor, subject, projectId } = entry;
  const requestId = requestIdOf(entry);
  const detail = readEntry(raw)?.detail ?? {};
  const activity = ACTIVITIES[KINDS[kind as AuditKind] ?? "other"];
  const severity = SEVERITIES[severityOf(kind)];
  return JSON.stringify({
    class_uid: CLASS_UID,
    class_name: "API Activity",
    category_uid: CATEGORY_UID,
    category_name: "Application Activity",
    activity_id: activity.id,
    activity_name: activity.caption,
    type_uid: CLASS_UID * 100 + activity.id,
    type_name: `API Activity: ${activity.caption}`,
    // An altered row may contain anything.
    time: Number.isSafeInteger(at) ? at : 0,
    severity_id: severity.id,
    severity: severity.caption,
    ...statusOf(kind, detail),
    message: `${actor}: ${kind} ${subject}`,
    metadata: {
      version: SCHEMA_VERSION,
      profiles: ["ai_operation", "security_control"],
      product: { name: PRODUCT, vendor_name: PRODUCT, version: productVersion },
      uid: id,
      event_code: kind,
      log_name: origin,
      sequence: position,
      tenant_uid: projectId === "" ? undefined : projectId,
    },
    actor: toActor(actor, detail),
    // Audit entries contain no network addresses.
    src_endpoint: { name: actor },
    api: {
      operation: kind,
      service: { name: PRODUCT },
      request: requestId === undefined ? undefined : { uid: requestId },
    },
    resources: [{ uid: subject, type: kindOf(subject) }],
    ...decisionOf(kind, detail),
    ...messageContextOf(requestId),
    raw_data: raw,
    unmapped: detail,
  });
}

type Detail = Readonly<Record<string, unknown>>;

function severityOf(kind: string): keyof typeof SEVERITIES {
  if (kind === "freeze.set") return "medium";
  return FAILURES.has(kind) ? "low" : "informational";
}

function statusOf(kind: string, { status, reason }: Detail): object {
  const isFailure = FAILURES.has(kind);
  return {
    status_id: isFailure ? 2 : 1,
    status: isFailure ? "Failure" : "Success",
    status_code: typeof status === "string" ? status : undefined,
    status_detail: typeof reason === "string" ? reason : undefined,
  };
}

/**
 * The agent of an instance is an application that acts by itself. An entry about a call that was
 * decided at once names its agent, and another actor.
 */
function toActor(actor: string, { opened_by: agent = actor }: Detail): object {
  const type = USER_TYPES[kindOf(actor)] ?? SYSTEM;
  const user = { uid: actor, type_id: type.id, type: type.caption };
  if (typeof agent !== "string" || kindOf(agent) !== "instance") return { user };
  return { user, app_uid: idOf(agent), app_name: "AI agent" };
}

/** The fields of the profile Security Control. */
function decisionOf(kind: string, detail: Detail): object {
  const { status, policy_sha256: uid, policy_version: version } = detail;
  if (kind !== "request.opened" && kind !== "request.resolved") return {};
  return {
    ...(kind === "request.resolved" && DECISIONS[String(status)]),
    policy: typeof uid === "string" ? { uid, version: String(version) } : undefined,
  };
}

/** The field of the profile AI Operation. The name of the model is unknown. */
function messageContextOf(requestId: string | undefined): object {
  if (requestId === undefined) return {};
  return { message_context: { uid: requestId, service: { name: PRODUCT }, ...TOOL } };
}

function kindOf(text: string): string {
  return text.slice(0, Math.max(0, text.indexOf(":")));
}

function idOf(text: string): string {
  return text.slice(text.indexOf(":") + 1);
}
