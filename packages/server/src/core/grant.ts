/**
 * Grants: bounded answers that a reviewer gives beforehand to calls of one instance. Each call
 * still gets its own request and decision, which names the grant.
 */

import type { Actor } from "./actor.ts";

/** Which calls a grant answers, and how. JSON as it is: it is stored with the grant. */
export interface GrantTerms {
  /** A glob over the whole name of the tool. */
  readonly tool: string;
  /** The server that a call must name; without it, it must name none. */
  readonly server?: string;
  /** A condition over the same variables as those of policy. */
  readonly when?: string;
  /** `session_id` of the context. Adapters say it, so it only ever narrows. */
  readonly session?: string;
  /** What agents read with each approval. */
  readonly note?: string;
  /** How long each approval may be used. */
  readonly validityMs?: number;
}

/** Times are epoch milliseconds. */
export interface StoredGrant {
  readonly id: string;
  readonly projectId: string;
  readonly instanceId: string;
  /** Whose authority it is: without it the grant answers nothing. */
  readonly reviewerId: string;
  readonly terms: GrantTerms;
  readonly createdAt: number;
  /** From then on it answers nothing. */
  readonly expiresAt: number;
  readonly callsMax: number;
  /** Approved with it so far. */
  readonly calls: number;
  readonly revokedAt: number | null;
  readonly revokedBy: Actor | null;
}

export type GrantState = "active" | "revoked" | "exhausted" | "expired";

/** Whether it may still answer a call, and else why not. */
export function stateOf(
  { revokedAt, calls, callsMax, expiresAt }: Omit<StoredGrant, "terms">,
  now: number,
): GrantState {
  if (revokedAt !== null) return "revoked";
  if (calls >= callsMax) return "exhausted";
  return now >= expiresAt ? "expired" : "active";
}
