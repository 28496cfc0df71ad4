/**
 * The answers of the OpenID Authorization API and of its profile for access requests.
 *
 * @see https://openid.net/specs/authorization-api-1_0.html
 * @see AuthZEN Access Request and Approval Profile, draft 1
 */

import { formatTimestamp } from "@countersign/protocol";
import type { StoredRequest } from "./request.ts";

/** The decision that the server would make about a call now. */
export interface CallEvaluation {
  /** `ask`: reviewers would decide. */
  readonly outcome: "approve" | "ask" | "deny" | "frozen";
  /** The deciding rule, or a reserved name, as in an Evaluation; "grant": a grant approves. */
  readonly because: string;
  /** The explanation of the rule for the agent; undefined with `ask`, `frozen` or without one. */
  readonly note: string | undefined;
  /** Undefined when the question has no reference to an approval. */
  readonly approval: ApprovalCheck | undefined;
  /** Epoch ms. */
  readonly at: number;
}

/** The approval that a question refers to. */
export type ApprovalCheck =
  /** It approves this call until `expiresAt`, epoch ms. */
  | { readonly kind: "valid"; readonly id: string; readonly expiresAt: number }
  | { readonly kind: "expired" | "out_of_scope" | "unverifiable" };

/** The hint that the client may request access. */
export interface RequestableDenial {
  readonly endpoint: string;
  readonly bindingToken: string;
  /** Epoch ms. */
  readonly expiresAt: number;
}

type Json = Readonly<Record<string, unknown>>;

export interface WrittenDecision {
  readonly decision: boolean;
  readonly context: Json;
}

/** True when the call may run now, according to policy, a grant or the approval of reviewers. */
export function isPermitted({ outcome, approval }: CallEvaluation): boolean {
  return outcome === "approve" || (outcome === "ask" && approval?.kind === "valid");
}

/**
 * True when a denial has the hint: reviewers would decide the call, and the reference to an
 * approval can be replaced by a new one.
 */
export function isRequestable(call: CallEvaluation): boolean {
  if (isPermitted(call) || call.outcome !== "ask") return false;
  return call.approval?.kind !== "unverifiable";
}

/** @param denial undefined when the call is not requestable */
export function writeDecision(
  call: CallEvaluation,
  denial: RequestableDenial | undefined,
): WrittenDecision {
  const { because, note, approval, at } = call;
  const common = {
    evaluated_at: formatTimestamp(at),
    reason: reasonOf(call),
    rule: because,
    note,
  };
  if (isPermitted(call)) {
    return {
      decision: true,
      context: {
        ...common,
        approval: approval?.kind === "valid" ? writeApproval(approval) : undefined,
      },
    };
  }
  return {
    decision: false,
    context: {
      ...common,
      next_action: approval === undefined ? undefined : nextAction(denial),
      access_request: denial === undefined ? undefined : writeDenial(denial),
    },
  };
}

function reasonOf({ outcome, because, approval }: CallEvaluation): string {
  if (outcome === "approve") return because === "grant" ? "grant_approved" : "policy_approved";
  if (outcome === "deny") return "policy_denied";
  // With a reference to an approval, the reason has to be one that the profile defines.
  if (outcome === "frozen") return approval === undefined ? "calls_frozen" : "policy_denied";
  switch (approval?.kind) {
    case "valid":
      return "request_approved";
    case "expired":
      return "approval_expired";
    case "out_of_scope":
      return "out_of_scope";
    case "unverifiable":
      return "approval_unverifiable";
    case undefined:
      return "approval_required";
  }
}

/** The next step of a client whose approval does not permit the call. */
function nextAction(denial: RequestableDenial | undefined): "request" | "none" {
  return denial === undefined ? "none" : "request";
}

function writeDenial({ endpoint, bindingToken, expiresAt }: RequestableDenial): Json {
  return {
    endpoint,
    expires_at: formatTimestamp(expiresAt),
    binding_token: bindingToken,
  };
}

function writeApproval({
  id,
  expiresAt,
}: {
  readonly id: string;
  readonly expiresAt: number;
}): Json {
  return { id, approved_until: formatTimestamp(expiresAt) };
}

/** The addresses of one task. */
export interface TaskLinks {
  readonly status: string;
  readonly cancel: string;
  /** The page of the console; undefined without a console. */
  readonly review: string | undefined;
}

/**
 * A request as a task. Its statuses have the same names. A pending task ends at its deadline; a
 * task that has ended stays readable, so it has no `expires_at`.
 */
export function writeTask(request: StoredRequest, links: TaskLinks): Json {
  const { id, status, deadlineAt, decision } = request;
  const task = {
    id,
    status,
    status_endpoint: links.status,
    expires_at: status === "pending" ? formatTimestamp(deadlineAt) : undefined,
    links: {
      cancel: links.cancel,
      review: links.review,
    },
  };
  if (decision === null || decision.expiresAt === null) return { task };
  const approval = {
    id,
    approved_at: formatTimestamp(decision.decidedAt),
    approved_until: formatTimestamp(decision.expiresAt),
  };
  return { task, result: { mode: "reevaluate", approval } };
}

/**
 * The metadata of the Policy Decision Point.
 *
 * @param base its identifier, without a slash at the end
 */
export function writeMetadata(base: string): Json {
  return {
    policy_decision_point: base,
    access_evaluation_endpoint: `${base}/access/v1/evaluation`,
    access_evaluations_endpoint: `${base}/access/v1/evaluations`,
    access_request_endpoint: `${base}/access/v1/requests`,
    capabilities: ["urn:openid:authzen:capability:access-request"],
  };
}
