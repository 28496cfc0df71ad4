/**
 * Descriptions of audit entries. An unknown kind is shown unchanged.
 */

import type { ChoiceGroup } from "../../parts/filter-bar.tsx";
import type { AuditEntry } from "./audit-entry.ts";

/** By what they are about, in the order in which they are offered. */
const KINDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "Requests and votes": {
    "request.opened": "A call was submitted",
    "vote.cast": "An approval was given, and more are needed",
    "vote.withdrawn": "An approval was withdrawn",
    "verdict.held": "A verdict was scheduled",
    "verdict.taken_back": "A scheduled verdict was undone",
    "verdict.cast": "A scheduled verdict took effect",
    "verdict.lapsed": "A scheduled verdict expired",
    "confirmation.missed": "A confirmation was wrong",
    "request.escalated": "A request was escalated",
    "request.claimed": "A reviewer claimed a request",
    "request.released": "A reviewer released a request",
    "request.resolved": "A request was resolved",
    "approval.consumed": "An agent used an approval",
    "outcome.reported": "An agent reported the outcome of a call",
    "history.exported": "The history was exported",
  },
  Deliveries: {
    "delivery.ended": "A delivery was completed",
    "delivery.hurried": "Deliveries were retried manually",
  },
  "Policy, grants and freezes": {
    "policy.published": "A policy was published",
    "policy.proposed": "A policy was proposed",
    "policy.rejected": "A proposed policy was rejected",
    "grant.made": "A grant was created",
    "grant.revoked": "A grant was revoked",
    "freeze.set": "A freeze was set",
    "freeze.lifted": "A freeze was lifted",
  },
  "Instances and tokens": {
    "instance.provisioned": "An instance was created",
    "instance.updated": "An instance's receiver was changed",
    "instance.grouped": "An instance's groups or owner were changed",
    "instance.grouping_proposed": "A change of an instance's groups or owner was proposed",
    "instance.deleted": "An instance was deleted",
    "credential.issued": "A credential was issued",
    "credential.revoked": "A credential was revoked",
    "provisioner.created": "A provisioner was created",
  },
  People: {
    "session.begun": "A user signed in",
    "session.ended": "A session ended",
    "signin.refused": "A sign-in failed",
    "person.created": "A user was added",
    "person.updated": "A user was changed",
    "reviewer.created": "A reviewer was added",
    "reviewer.updated": "A reviewer's role or groups were changed",
    "absence.set": "An absence was set",
    "absence.changed": "An absence was changed",
    "absence.ended": "An absence was ended",
    "reviewer.removed": "A reviewer was removed",
    "invitation.made": "An invitation was created",
    "invitation.used": "An invitation was used",
    "invitation.revoked": "An invitation was revoked",
    "passkey.added": "A passkey was added",
    "passkey.removed": "A passkey was removed",
    "password.changed": "A password was changed",
  },
  Channels: {
    "channel.created": "A channel was created",
    "channel.updated": "A channel was changed",
    "channel.deleted": "A channel was deleted",
    "channel.tested": "A channel was tested",
    "schedule.created": "An on-call schedule was created",
    "schedule.updated": "An on-call schedule was changed",
    "schedule.deleted": "An on-call schedule was deleted",
    "chat.linked": "A chat account was linked",
    "chat.unlinked": "A chat account was unlinked",
    "chat.refused": "An action in a chat was refused",
  },
  "The server": {
    "audit.begun": "This log was created",
    "rows.erased": "Expired rows were purged",
    "secret_key.rotated": "The secret key was replaced",
    "database.imported": "The database was imported",
  },
};

const WORDS: Readonly<Record<string, string>> = Object.assign({}, ...Object.values(KINDS));

export const KIND_GROUPS: readonly ChoiceGroup[] = Object.entries(KINDS).map(([label, kinds]) => ({
  label,
  choices: Object.entries(kinds).map(([value, text]) => ({ value, text })),
}));

const OUTCOMES: Readonly<Record<string, string>> = {
  approved: "A request was approved",
  denied: "A request was denied",
  expired: "A request expired",
  cancelled: "A request was cancelled",
};

const ENDS: Readonly<Record<string, string>> = {
  acknowledged: "A decision reached its receiver",
  window: "A delivery failed after 168 h of retries",
  removal: "A delivery was cancelled: its receiver was removed",
  deletion: "A delivery was cancelled: its instance was deleted",
};

/** Description of the entry. */
export function wordsOf({ kind, detail }: Pick<AuditEntry, "kind" | "detail">): string {
  const { status, by, restores, scope } = detail;
  if (kind === "request.resolved") return OUTCOMES[String(status)] ?? wordsOfKind(kind);
  if (kind === "delivery.ended") return ENDS[String(by)] ?? wordsOfKind(kind);
  if (kind === "policy.published" && typeof restores === "number") return "A policy was restored";
  if (kind === "freeze.set" && scope === "server") return "The whole server was frozen";
  if (kind === "freeze.set" && scope === "project") return "The project was frozen";
  if (kind === "freeze.set" && scope === "instance") return "An instance was frozen";
  return wordsOfKind(kind);
}

export function wordsOfKind(kind: string): string {
  return WORDS[kind] ?? kind;
}

/** Names by `kind:id`, as far as they are known. */
export type Names = ReadonlyMap<string, string>;

const SYSTEM_ACTORS: Readonly<Record<string, string>> = {
  "operator:cli": "the command line",
  "system:audit": "the server",
  "system:delivery": "the server",
  "system:escalation": "the escalation",
  "system:chat": "a user of a chat",
  "system:retention": "the server",
  "system:secret-key": "the server",
  "system:setup": "the setup link",
  "system:deadline": "the deadline",
  "system:instance-deletion": "the instance's deletion",
  "system:sign-in": "the sign-in page",
};

/** A `kind:id` in words: by its name, else by the end of its id. */
export function describeReference(reference: string, names: Names): string {
  const known = SYSTEM_ACTORS[reference] ?? names.get(reference);
  if (known !== undefined) return known;
  const colon = reference.indexOf(":");
  const [kind, id] = [reference.slice(0, colon), reference.slice(colon + 1)];
  if (kind === "audit") return "this log";
  if (kind === "policy") return /^\d+$/.test(id) ? `policy version ${id}` : `rule ${id}`;
  return /^[0-9a-f-]{36}$/.test(id) ? `${kind} …${id.slice(-6)}` : reference;
}

/** The screen on which a thing is seen; undefined for what has none. */
export function pathOfReference(reference: string): string | undefined {
  const [kind, id = ""] = reference.split(":");
  if (!/^[0-9a-f-]{36}$/.test(id)) return undefined;
  if (kind === "request") return `/inbox/${id}`;
  return kind === "instance" ? `/instances/${id}` : undefined;
}
