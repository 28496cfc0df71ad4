/** Identifies who or what did something, as the audit log records it. */

/** Who or what did something, as `kind:id`. */
export type Actor =
  | `reviewer:${string}`
  | `provisioner:${string}`
  | `instance:${string}`
  /** A rule of the project's policy, or of the floor as `policy:floor/ID`. */
  | `policy:${string}`
  | `grant:${string}`
  | `freeze:${string}`
  /** Who signed in, for what is of no project. */
  | `person:${string}`
  | "system:deadline"
  | "system:instance-deletion"
  /** The start of a server without accounts. */
  | "system:setup"
  | "system:audit"
  | "system:delivery"
  | "system:retention"
  | "system:secret-key"
  /** The claims of an identity provider. */
  | "system:sign-in"
  | "operator:cli";

/** Of what kind an actor is: the word before the colon. */
export type ActorKind = Actor extends infer A
  ? A extends `${infer Kind}:${string}`
    ? Kind
    : never
  : never;

export function kindOfActor(actor: Actor): ActorKind {
  return actor.slice(0, actor.indexOf(":")) as ActorKind;
}
