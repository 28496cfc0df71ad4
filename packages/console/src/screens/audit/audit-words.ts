/**
 * Descriptions of audit entries. An unknown kind is shown unchanged.
 */

import { t } from "../../language/t.ts";
import type { ChoiceGroup } from "../../parts/filter-bar.tsx";
import type { AuditEntry } from "./audit-entry.ts";

type Words = Readonly<Record<string, string>>;

/** By what they are about, in the order in which they are offered. */
const KINDS: readonly (readonly [group: string, kinds: Words])[] = [
  [
    t`Requests and votes`,
    {
      "request.opened": t`A call was submitted`,
      "vote.cast": t`An approval was given, and more are needed`,
      "vote.withdrawn": t`An approval was withdrawn`,
      "verdict.held": t`A verdict was scheduled`,
      "verdict.taken_back": t`A scheduled verdict was undone`,
      "verdict.cast": t`A scheduled verdict took effect`,
      "verdict.lapsed": t`A scheduled verdict expired`,
      "confirmation.missed": t`A confirmation was wrong`,
      "request.escalated": t`A request was escalated`,
      "request.claimed": t`A reviewer claimed a request`,
      "request.released": t`A reviewer released a request`,
      "request.handed_over": t`A reviewer handed a claim over`,
      "request.commented": t`A reviewer commented on a request`,
      "request.resolved": t`A request was resolved`,
      "approval.consumed": t`An agent used an approval`,
      "outcome.reported": t`An agent reported the outcome of a call`,
      "history.exported": t`The history was exported`,
    },
  ],
  [
    t`Deliveries`,
    {
      "delivery.ended": t`A delivery was completed`,
      "delivery.hurried": t`Deliveries were retried manually`,
    },
  ],
  [
    t`Policy, grants and freezes`,
    {
      "policy.published": t`A policy was published`,
      "policy.proposed": t`A policy was proposed`,
      "policy.rejected": t`A proposed policy was rejected`,
      "grant.made": t`A grant was created`,
      "grant.revoked": t`A grant was revoked`,
      "freeze.set": t`A freeze was set`,
      "freeze.lifted": t`A freeze was lifted`,
    },
  ],
  [
    t`Instances and tokens`,
    {
      "instance.provisioned": t`An instance was created`,
      "instance.updated": t`An instance's name or receiver was changed`,
      "instance.grouped": t`An instance's groups or owner were changed`,
      "instance.grouping_proposed": t`A change of an instance's groups or owner was proposed`,
      "instance.credential_rotated": t`An instance's credential was replaced`,
      "instance.credential_issued": t`A workload got a credential of its instance`,
      "instance.deleted": t`An instance was deleted`,
      "credential.issued": t`A credential was issued`,
      "credential.revoked": t`A credential was revoked`,
      "provisioner.created": t`A provisioner was created`,
    },
  ],
  [
    t`People`,
    {
      "session.begun": t`A user signed in`,
      "session.ended": t`A session ended`,
      "signin.refused": t`A sign-in failed`,
      "person.created": t`A user was added`,
      "person.updated": t`A user was changed`,
      "group.created": t`A group of the identity provider was added`,
      "group.updated": t`A group of the identity provider was changed`,
      "group.deleted": t`A group of the identity provider was deleted`,
      "reviewer.created": t`A reviewer was added`,
      "reviewer.updated": t`A reviewer's role or groups were changed`,
      "absence.set": t`An absence was set`,
      "absence.changed": t`An absence was changed`,
      "absence.ended": t`An absence was ended`,
      "reviewer.removed": t`A reviewer was removed`,
      "invitation.made": t`An invitation was created`,
      "invitation.used": t`An invitation was used`,
      "invitation.revoked": t`An invitation was revoked`,
      "passkey.added": t`A passkey was added`,
      "passkey.removed": t`A passkey was removed`,
      "password.changed": t`A password was changed`,
    },
  ],
  [
    t`Channels`,
    {
      "channel.created": t`A channel was created`,
      "channel.updated": t`A channel was changed`,
      "channel.deleted": t`A channel was deleted`,
      "channel.tested": t`A channel was tested`,
      "schedule.created": t`An on-call schedule was created`,
      "schedule.updated": t`An on-call schedule was changed`,
      "schedule.deleted": t`An on-call schedule was deleted`,
      "chat.linked": t`A chat account was linked`,
      "chat.unlinked": t`A chat account was unlinked`,
      "chat.refused": t`An action in a chat was refused`,
    },
  ],
  [
    t`The server`,
    {
      "audit.begun": t`This log was created`,
      "audit.pruned": t`Archived entries were pruned`,
      "rows.erased": t`Expired rows were purged`,
      "secret_key.rotated": t`The secret key was replaced`,
      "database.imported": t`The database was imported`,
    },
  ],
];

const WORDS: Words = Object.assign({}, ...KINDS.map(([, kinds]) => kinds));

export const KIND_GROUPS: readonly ChoiceGroup[] = KINDS.map(([label, kinds]) => ({
  label,
  choices: Object.entries(kinds).map(([value, text]) => ({ value, text })),
}));

const OUTCOMES: Words = {
  approved: t`A request was approved`,
  denied: t`A request was denied`,
  expired: t`A request expired`,
  cancelled: t`A request was cancelled`,
};

const ENDS: Words = {
  acknowledged: t`A decision reached its receiver`,
  window: t`A delivery failed after 168 h of retries`,
  removal: t`A delivery was cancelled: its receiver was removed`,
  deletion: t`A delivery was cancelled: its instance was deleted`,
};

/** Description of the entry. */
export function wordsOf({ kind, detail }: Pick<AuditEntry, "kind" | "detail">): string {
  const { status, by, restores, scope } = detail;
  if (kind === "request.resolved") return OUTCOMES[String(status)] ?? wordsOfKind(kind);
  if (kind === "delivery.ended") return ENDS[String(by)] ?? wordsOfKind(kind);
  if (kind === "policy.published" && typeof restores === "number") return t`A policy was restored`;
  if (kind === "freeze.set" && scope === "server") return t`The whole server was frozen`;
  if (kind === "freeze.set" && scope === "project") return t`The project was frozen`;
  if (kind === "freeze.set" && scope === "instance") return t`An instance was frozen`;
  return wordsOfKind(kind);
}

export function wordsOfKind(kind: string): string {
  return WORDS[kind] ?? kind;
}

/** Names by `kind:id`, as far as they are known. */
export type Names = ReadonlyMap<string, string>;

/** A part of the system as the subject of a sentence, and as the one that did something. */
interface SystemActor {
  readonly name: string;
  readonly by: string;
}

const SERVER: SystemActor = {
  name: t`the server`,
  by: t`by the server`,
};

const SYSTEM_ACTORS: Readonly<Record<string, SystemActor>> = {
  "operator:cli": {
    name: t`the command line`,
    by: t`by the command line`,
  },
  "system:audit": SERVER,
  "system:delivery": SERVER,
  "system:escalation": {
    name: t`the escalation`,
    by: t`by the escalation`,
  },
  "system:chat": {
    name: t`a user of a chat`,
    by: t`by a user of a chat`,
  },
  "system:retention": SERVER,
  "system:secret-key": SERVER,
  "system:setup": {
    name: t`the setup link`,
    by: t`by the setup link`,
  },
  "system:deadline": {
    name: t`the deadline`,
    by: t`by the deadline`,
  },
  "system:instance-deletion": {
    name: t`the instance's deletion`,
    by: t`by the instance's deletion`,
  },
  "system:provider-logout": {
    name: t`the identity provider`,
    by: t`by the identity provider`,
  },
  "system:sign-in": {
    name: t`the sign-in page`,
    by: t`by the sign-in page`,
  },
  "system:workload-identity": {
    name: t`workload identity`,
    by: t`by workload identity`,
  },
};

/** Like `by the server`; undefined for what is not a part of the system. */
export function bySystem(reference: string): string | undefined {
  return SYSTEM_ACTORS[reference]?.by;
}

/** Of references, by their kind. */
const NOUNS: Words = {
  channel: t`channel`,
  chat_link: t`chat_link`,
  credential: t`credential`,
  freeze: t`freeze`,
  grant: t`grant`,
  group: t`group`,
  instance: t`instance`,
  invitation: t`invitation`,
  passkey: t`passkey`,
  person: t`person`,
  project: t`project`,
  proposal: t`proposal`,
  provisioner: t`provisioner`,
  push_subscription: t`push_subscription`,
  request: t`request`,
  reviewer: t`reviewer`,
  schedule: t`schedule`,
  scim: t`SCIM token`,
  session: t`session`,
};

/** A `kind:id` in words: by its name, else by the end of its id. */
export function describeReference(reference: string, names: Names): string {
  const known = SYSTEM_ACTORS[reference]?.name ?? names.get(reference);
  if (known !== undefined) return known;
  const colon = reference.indexOf(":");
  const [kind, id] = [reference.slice(0, colon), reference.slice(colon + 1)];
  if (kind === "audit") return t`this log`;
  if (kind === "policy") return /^\d+$/.test(id) ? t`policy version ${id}` : t`rule ${id}`;
  return /^[0-9a-f-]{36}$/.test(id) ? `${NOUNS[kind] ?? kind} …${id.slice(-6)}` : reference;
}

/** The screen on which a thing is seen; undefined for what has none. */
export function pathOfReference(reference: string): string | undefined {
  const [kind, id = ""] = reference.split(":");
  if (!/^[0-9a-f-]{36}$/.test(id)) return undefined;
  if (kind === "request") return `/inbox/${id}`;
  return kind === "instance" ? `/instances/${id}` : undefined;
}
