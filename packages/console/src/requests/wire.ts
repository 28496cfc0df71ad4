/**
 * A request as the reviewer surface writes it, and what helps to decide it. Arguments and context
 * are never taken from here: they are the text that stands in the answer.
 */

import type { Asked } from "./words.ts";

export type Status = "pending" | "approved" | "denied" | "expired" | "cancelled";

export interface Requirement extends Asked {
  readonly confirm: {
    readonly kind: "click" | "type" | "match" | "passkey";
    readonly text?: string;
  };
  readonly valid_for_max?: string;
}

export interface PolicyVersion {
  readonly number: number;
  readonly sha256: string;
}

export interface HeldVerdict {
  readonly verdict: "approve" | "deny";
  readonly held_at: string;
  readonly commits_at: string;
}

export interface WireRequest {
  readonly id: string;
  readonly status: Status;
  readonly tool: string;
  /** What the adapter calls the MCP server. */
  readonly server?: string;
  readonly created_at: string;
  readonly deadline_at: string;
  readonly agent_reasoning?: string | null;
  readonly instance: { readonly id: string; readonly name: string };
  readonly arguments_sha256: string;
  readonly decision?: {
    readonly decided_at: string;
    readonly expires_at?: string;
    readonly note?: string | null;
  } | null;
  /** How the agent used the approval, as it says. */
  readonly consumption?: { readonly consumed_at: string };
  readonly decided_by?: string;
  readonly decider?: string;
  readonly policy: {
    readonly because: string;
    readonly fired: readonly string[];
    readonly errors: readonly { readonly rule: string; readonly message?: string }[];
    readonly versions: {
      readonly project?: PolicyVersion | null;
      readonly floor?: PolicyVersion | null;
    };
    readonly note?: string;
  };
  readonly requirement: Requirement;
  readonly votes: readonly {
    readonly reviewer: string;
    readonly at: string;
    readonly note?: string;
  }[];
  readonly may_decide: {
    readonly approve: boolean;
    readonly deny: boolean;
    readonly reason?: string;
  };
  /** What the caller has sent and can still take back. */
  readonly held?: HeldVerdict;
  readonly now?: string;
}

/** As `GET requests/ID/background` answers, without the arguments in it. */
export interface WireBackground {
  readonly last_approved: {
    readonly id: string;
    readonly decided_at: string;
    readonly decided_by: string;
  } | null;
  readonly similar: {
    readonly since: string;
    readonly approved: number;
    readonly denied: number;
    readonly expired: number;
    readonly cancelled: number;
    readonly pending: number;
    readonly complete: boolean;
  };
  readonly denied_before: {
    readonly id: string;
    readonly decided_at: string;
    readonly decided_by: string;
    readonly note?: string;
  } | null;
  readonly timeline: readonly {
    readonly at: string;
    readonly kind: string;
    readonly by: string;
    readonly name?: string;
    readonly status?: string;
    readonly reason?: string;
    /** What an agent said of its call. */
    readonly note?: string;
  }[];
}
