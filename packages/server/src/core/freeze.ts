/**
 * Freezes: until one is lifted, everything it covers is denied, whatever policy, a grant or a
 * reviewer says.
 */

import type { Actor } from "./actor.ts";
import type { IntendedDecision, JsonText } from "./request.ts";

/** Times are epoch milliseconds. */
export interface StoredFreeze {
  readonly id: string;
  /** Empty: the whole server. */
  readonly projectId: string;
  /** Empty: every instance. */
  readonly instanceId: string;
  /** The note for the agents. */
  readonly note: string | null;
  readonly frozenAt: number;
  readonly frozenBy: Actor;
  readonly liftedAt: number | null;
  readonly liftedBy: Actor | null;
}

/** What there is to say of a freeze to those whom it denies. */
export type FreezeRef = Pick<StoredFreeze, "id" | "note">;

/** What a freeze is laid on. */
export type FreezeScope = "instance" | "project" | "server";

export function scopeOf({
  projectId,
  instanceId,
}: Pick<StoredFreeze, "projectId" | "instanceId">): FreezeScope {
  if (instanceId !== "") return "instance";
  return projectId === "" ? "server" : "project";
}

const NOTE_DEFAULT = "Frozen.";

/** How a request ends that a freeze covers. */
export function freezeDecision({ id, note }: FreezeRef): Extract<
  IntendedDecision,
  { readonly status: "denied" }
> & {
  readonly note: JsonText;
} {
  return { status: "denied", by: `freeze:${id}`, note: JSON.stringify(note ?? NOTE_DEFAULT) };
}
