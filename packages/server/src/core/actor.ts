/** Identifies the actor of an event, as the audit log records it. */

/** The actor of an event, as `kind:id`. */
export type Actor =
  | `reviewer:${string}`
  | `provisioner:${string}`
  | `instance:${string}`
  /** A rule of the project's policy. `policy:floor/ID`: a rule of the baseline policy. */
  | `policy:${string}`
  | `grant:${string}`
  | `freeze:${string}`
  /** A signed-in user, for events without a project. */
  | `person:${string}`
  | "system:deadline"
  | "system:instance-deletion"
  /** The start of a server without accounts. */
  | "system:setup"
  | "system:audit"
  /** An event of a chat that no reviewer sent. */
  | "system:chat"
  | "system:delivery"
  | "system:escalation"
  | "system:retention"
  | "system:secret-key"
  /** The claims of an identity provider. */
  | "system:sign-in"
  /** The identity provider, when it ends its session of a user. */
  | "system:provider-logout"
  /** A token of a platform, as a rule of the setting `workload_identity` permits. */
  | "system:workload-identity"
  /** The identity provider, by the id of its SCIM token. */
  | `scim:${string}`
  | "operator:cli";

/** The kind of an actor: the word before the colon. */
export type ActorKind = Actor extends infer A
  ? A extends `${infer Kind}:${string}`
    ? Kind
    : never
  : never;

export function kindOfActor(actor: Actor): ActorKind {
  return actor.slice(0, actor.indexOf(":")) as ActorKind;
}
