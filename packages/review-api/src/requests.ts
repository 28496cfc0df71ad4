/** Approval requests: the inbox, what helps to decide one, verdicts, votes and delayed verdicts. */

import * as v from "valibot";
import { absence } from "./absences.ts";
import { operation } from "./operation.ts";
import { anyStatus, confirmKind, line, STATUSES } from "./request-shapes.ts";
import {
  actor,
  anyText,
  body,
  cursor,
  duration,
  exactObject,
  flag,
  id,
  identifier,
  jsonObject,
  type NamedSchema,
  named,
  page,
  sha256,
  text,
  timestamp,
  word,
  wordParameter,
} from "./schema.ts";

/** How long a verdict may be delayed. */
export const HOLD_MS = { min: 1_000, max: 60_000 };

/** A page holds the notes of 200 requests and of everyone who voted for them. */
const NOTE_CHARS_MAX = 10_000;

const policyVersion = v.object({ number: v.number(), sha256 });

/** How policy judged the call. */
const policy = v.object({
  verdict: v.picklist(["approve", "ask", "deny"]),
  /** The rule, or why there is none. */
  because: v.string(),
  fired: v.array(v.string()),
  errors: v.array(v.object({ rule: v.string(), message: v.string() })),
  /** Null where none was published. */
  versions: v.object({ project: v.nullable(policyVersion), floor: v.nullable(policyVersion) }),
  note: v.optional(v.string()),
});

/** The conditions of a decision, in the terms of a policy file. */
const requirement = v.object({
  /** Sets of `group:x` and `reviewer:y`; empty: any reviewer. */
  from: v.array(v.array(v.string())),
  quorum: v.number(),
  /** How many members of each set of `from`; absent: one of each. */
  quorums: v.optional(v.array(v.number())),
  exclude: v.array(v.string()),
  confirm: v.object({
    kind: confirmKind,
    /** The text to type, with `type`. */
    text: v.optional(v.string()),
    /** The page where a reviewer signs, with `passkey`. */
    sign_at: v.optional(v.string()),
  }),
  note: v.picklist(["required", "optional"]),
  /** Whether a standing grant may approve instead of people. */
  grants: v.boolean(),
  /** Whether approvals by bots count. */
  bots: v.boolean(),
  /** Where approvals are permitted: `console`, `api` and kinds of chats; absent: everywhere. */
  channels: v.optional(v.array(v.string())),
  valid_for_max: v.optional(v.string()),
  /** Groups that may decide too while the request waits, by time; absent: none. */
  escalate: v.optional(
    v.array(
      v.object({
        /** `group:x` or `oncall:x` */
        to: v.string(),
        /** Of an applied step to a schedule: `reviewer:x`. Empty: no known reviewer is on call. */
        on_call: v.optional(v.array(v.string())),
        /** When the step is due. */
        at: timestamp,
        /** When the server applied it; absent: it is not applied. */
        done_at: v.optional(timestamp),
      }),
    ),
  ),
});

const vote = v.object({
  /** The name of the reviewer. */
  reviewer: v.string(),
  at: timestamp,
  note: v.optional(v.string()),
});

const delayedVerdict = v.object({
  verdict: v.picklist(["approve", "deny"]),
  held_at: timestamp,
  commits_at: timestamp,
  note: v.optional(v.string()),
});

/** The members that the contract has too. */
const contractMembers = {
  id,
  tool: v.string(),
  arguments: exactObject,
  /** The MCP server that the agent names. */
  server: v.optional(v.string()),
  timeout: v.string(),
  agent_reasoning: v.optional(v.string()),
  context: v.optional(exactObject),
  status: anyStatus,
  created_at: timestamp,
  deadline_at: timestamp,
  decision: v.optional(
    v.object({
      status: v.picklist(STATUSES),
      note: v.optional(v.string()),
      decided_at: timestamp,
      expires_at: v.optional(timestamp),
    }),
  ),
  /** How the agent used the approval. */
  consumption: v.optional(
    v.object({
      consumed_at: timestamp,
      outcome: v.optional(
        v.object({
          status: v.picklist(["succeeded", "failed"]),
          note: v.optional(v.string()),
          reported_at: timestamp,
        }),
      ),
    }),
  ),
};

/** A fact about the call that a reviewer should check. */
const signal = v.object({
  /** Stable, such as `no_where`. */
  id: v.string(),
  /** The fact as a sentence. It can contain text of the agent. */
  text: v.string(),
  /** The argument that the fact is about, such as `to[0].amount`. */
  path: v.optional(v.string()),
});

const reviewedMembers = {
  ...contractMembers,
  instance: named,
  arguments_sha256: sha256,
  decided_by: v.optional(actor),
  /** The name of the reviewer who decided. */
  decider: v.optional(v.string()),
  /** The freeze that denied the request; absent: none, or it was purged. */
  freeze: v.optional(
    v.object({
      frozen_by: actor,
      /** The name of the reviewer; absent: the reviewer is not in the project. */
      reviewer: v.optional(v.string()),
      frozen_at: timestamp,
    }),
  ),
  line,
  /** Of the call alone; absent: none. */
  signals: v.optional(v.array(signal)),
  policy,
  requirement,
  /** Approvals so far, the earliest first. */
  votes: v.array(vote),
  /** The reviewer who reviews the pending request. It gives no right. */
  claim: v.optional(
    v.object({
      reviewer: v.string(),
      /** True for the caller's claim. */
      own: v.boolean(),
      at: timestamp,
      until: timestamp,
    }),
  ),
  /** How many comments it has; not present: none. */
  comment_count: v.optional(v.number()),
  /** Reviewers who may decide it and are absent now; not present: none. */
  absences: v.optional(v.array(absence)),
  /** The caller's own delayed verdict. */
  held: v.optional(delayedVerdict),
  may_decide: v.object({
    approve: v.boolean(),
    deny: v.boolean(),
    /** Why the caller cannot approve. */
    reason: v.optional(v.string()),
  }),
};

export interface ReviewedRequestSchema extends NamedSchema<typeof reviewedMembers> {}

export interface ShownRequestSchema
  extends NamedSchema<typeof reviewedMembers & { readonly now: typeof timestamp }> {}

export const reviewedRequest: ReviewedRequestSchema = v.object(reviewedMembers);

/** A request with the server's time, from which a client counts down. */
export const shownRequest: ShownRequestSchema = v.object({ ...reviewedMembers, now: timestamp });

export type ReviewedRequest = v.InferOutput<typeof reviewedRequest>;
export type ShownRequest = v.InferOutput<typeof shownRequest>;
export type PolicyVersion = v.InferOutput<typeof policyVersion>;
export type DelayedVerdict = v.InferOutput<typeof delayedVerdict>;

const background = v.object({
  last_approved: v.nullable(
    v.object({
      id,
      created_at: timestamp,
      decided_at: timestamp,
      decided_by: actor,
      arguments_sha256: sha256,
      arguments: exactObject,
    }),
  ),
  similar: v.object({
    since: timestamp,
    approved: v.number(),
    denied: v.number(),
    expired: v.number(),
    cancelled: v.number(),
    pending: v.number(),
    /** False when there are more calls than the server counts. */
    complete: v.boolean(),
  }),
  /** A denied call with the same arguments. */
  denied_before: v.nullable(
    v.object({
      id,
      decided_at: timestamp,
      decided_by: actor,
      /** The name of the reviewer. */
      decider: v.optional(v.string()),
      note: v.optional(v.string()),
    }),
  ),
  /** Of earlier calls; absent: none. */
  signals: v.optional(v.array(signal)),
  timeline: v.array(
    v.object({
      at: timestamp,
      kind: v.string(),
      by: actor,
      /** The name of the reviewer. */
      name: v.optional(v.string()),
      status: v.optional(v.string()),
      reason: v.optional(v.string()),
      /** The agent's note about its call. */
      note: v.optional(v.string()),
    }),
  ),
  now: timestamp,
});

export type Background = v.InferOutput<typeof background>;

/** A verdict; `valid_for`, `confirmation` and `passkey` belong to approvals. */
const verdictBody = body({
  verdict: word(["approve", "deny"]),
  /** Of the exact arguments that the reviewer saw. */
  arguments_sha256: v.pipe(
    v.string("must be a string"),
    v.regex(/^[0-9a-f]{64}$/, "must be 64 lowercase hexadecimal digits"),
  ),
  note: v.optional(text(NOTE_CHARS_MAX)),
  valid_for: v.optional(duration()),
  /** The text that the reviewer typed. */
  confirmation: v.optional(anyText),
  /** A passkey signature: the nonce of the challenge and the browser's answer. */
  passkey: v.optional(body({ nonce: anyText, assertion: jsonObject })),
  /** How long to delay the verdict; excludes `passkey`. */
  hold: v.optional(duration(HOLD_MS.min, HOLD_MS.max)),
});

export const requests = {
  listRequests: operation({
    method: "GET",
    path: "/requests",
    summary: "List pending requests by deadline, or decided requests, the latest first.",
    caller: "reviewer",
    power: "read",
    query: v.strictObject({
      state: v.optional(wordParameter(["pending", "decided"]), "pending"),
      ...page,
    }),
    answers: {
      200: v.object({
        requests: v.array(reviewedRequest),
        /** Requests that the database cannot read. */
        damaged: v.optional(v.array(id)),
        next: cursor,
        now: timestamp,
      }),
    },
    errors: [],
  }),

  showRequest: operation({
    method: "GET",
    path: "/requests/{id}",
    summary: "Show a request.",
    caller: "reviewer",
    power: "read",
    answers: { 200: shownRequest },
    errors: ["not_found"],
  }),

  showBackground: operation({
    method: "GET",
    path: "/requests/{id}/background",
    summary: "Show similar calls and the timeline of a request.",
    caller: "reviewer",
    power: "read",
    answers: { 200: background },
    errors: ["not_found"],
  }),

  castVerdict: operation({
    method: "POST",
    path: "/requests/{id}/verdict",
    summary: "Approve or deny a request.",
    caller: "reviewer",
    power: "decide",
    body: verdictBody,
    answers: { 200: reviewedRequest },
    errors: ["forbidden", "not_found", "arguments_mismatch", "already_terminal", "passkey_refused"],
  }),

  challengeVerdict: operation({
    method: "POST",
    path: "/requests/{id}/verdict/challenge",
    summary: "Create the options for signing an approval with a passkey.",
    caller: "reviewer",
    power: "decide",
    /** The verdict as it will be sent, without `passkey`. */
    body: verdictBody,
    answers: {
      200: v.object({ nonce: v.string(), options: exactObject, expires_at: timestamp }),
    },
    errors: ["forbidden", "not_found", "arguments_mismatch", "already_terminal"],
  }),

  withdrawVote: operation({
    method: "DELETE",
    path: "/requests/{id}/vote",
    summary: "Withdraw your approval of a request that needs several.",
    caller: "reviewer",
    power: "decide",
    answers: { 200: v.object({ withdrawn: v.boolean() }) },
    errors: ["forbidden", "not_found", "already_terminal"],
  }),

  claimRequest: operation({
    method: "POST",
    path: "/requests/{id}/claim",
    summary: "Show other reviewers that you review a request, for 10 minutes.",
    caller: "reviewer",
    power: "decide",
    body: body({
      /** True: also when another reviewer reviews it. */
      take_over: v.optional(flag),
    }),
    answers: {
      /** False: another reviewer reviews it. */
      200: v.object({ claimed: v.boolean() }),
    },
    errors: ["forbidden", "not_found", "already_terminal"],
  }),

  releaseClaim: operation({
    method: "DELETE",
    path: "/requests/{id}/claim",
    summary: "End your claim of a request.",
    caller: "reviewer",
    power: "decide",
    answers: { 200: v.object({ released: v.boolean() }) },
    errors: ["forbidden", "not_found", "already_terminal"],
  }),

  handOverClaim: operation({
    method: "POST",
    path: "/requests/{id}/claim/hand-over",
    summary: "Give your claim of a request to another reviewer.",
    caller: "reviewer",
    power: "decide",
    body: body({ reviewer_id: identifier("a reviewer") }),
    answers: {
      /** False: you have no claim. */
      200: v.object({ handed_over: v.boolean() }),
    },
    errors: ["forbidden", "not_found", "already_terminal"],
  }),

  takeBackVerdict: operation({
    method: "DELETE",
    path: "/requests/{id}/held",
    summary: "Cancel your delayed verdict.",
    caller: "reviewer",
    power: "decide",
    answers: { 200: v.object({ taken_back: v.boolean() }) },
    errors: ["forbidden", "not_found", "already_terminal"],
  }),
};
