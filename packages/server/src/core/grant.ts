/**
 * Grants: limited standing approvals of a reviewer for calls of one instance. Each call still has
 * its own request and decision, which names the grant.
 */

import type { Actor } from "./actor.ts";

/** The calls that a grant approves, and its decision. Stored as this JSON. */
export interface GrantTerms {
  /** A glob over the whole name of the tool. */
  readonly tool: string;
  /** The server that a call must name. Undefined: the call must name none. */
  readonly server?: string;
  /** Calls of any server and calls without one; excludes `server`. */
  readonly anyServer?: true;
  /** A condition with the variables of policy conditions. */
  readonly when?: string;
  /** `session_id` of the context. Agents choose it, so it can only narrow the grant. */
  readonly session?: string;
  /** `turn_id` or `prompt_id` of the context, in this session only; it also can only narrow. */
  readonly turn?: string;
  /** Note for agents in each approval. */
  readonly note?: string;
  /** Validity of each approval. */
  readonly validityMs?: number;
}

/** Times are epoch milliseconds. */
export interface StoredGrant {
  readonly id: string;
  readonly projectId: string;
  readonly instanceId: string;
  /** The reviewer who created it. Without the reviewer's permission, the grant approves nothing. */
  readonly reviewerId: string;
  readonly terms: GrantTerms;
  readonly createdAt: number;
  /** From then on, the grant approves nothing. */
  readonly expiresAt: number;
  readonly callsMax: number;
  /** Number of approvals with it. */
  readonly calls: number;
  readonly revokedAt: number | null;
  readonly revokedBy: Actor | null;
}

export type GrantState = "active" | "revoked" | "exhausted" | "expired";

/** Active, or the reason why it approves nothing more. */
export function stateOf(
  { revokedAt, calls, callsMax, expiresAt }: Omit<StoredGrant, "terms">,
  now: number,
): GrantState {
  if (revokedAt !== null) return "revoked";
  if (calls >= callsMax) return "exhausted";
  return now >= expiresAt ? "expired" : "active";
}
