/**
 * Freezes: an active freeze denies all calls that it covers. It overrides policies, grants and
 * reviewers.
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

/** The part of a freeze that a denied agent may receive. */
export type FreezeRef = Pick<StoredFreeze, "id" | "note">;

export type FreezeScope = "instance" | "project" | "server";

export function scopeOf({
  projectId,
  instanceId,
}: Pick<StoredFreeze, "projectId" | "instanceId">): FreezeScope {
  if (instanceId !== "") return "instance";
  return projectId === "" ? "server" : "project";
}

const NOTE_DEFAULT = "Frozen.";

/** The decision for a request that a freeze covers. */
export function freezeDecision({ id, note }: FreezeRef): Extract<
  IntendedDecision,
  { readonly status: "denied" }
> & {
  readonly note: JsonText;
} {
  return { status: "denied", by: `freeze:${id}`, note: JSON.stringify(note ?? NOTE_DEFAULT) };
}
