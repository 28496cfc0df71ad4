/**
 * Operations and fields for agents beyond the contract.
 *
 * - Extensions are fields and operations of released clients on the contract's paths. An operator
 *   can enable them. Without extensions, these paths behave exactly as the contract states.
 * - The agent surface has its own paths. It is always enabled.
 *
 * @see docs/reference/extensions.md
 */

import { Fields, invalidField } from "./fields.ts";
import type { JsonValue } from "./json.ts";
import { OUTCOME_NOTE_CHARS_MAX } from "./limits.ts";
import type { Operation } from "./operations.ts";
import type { ApprovalRequest } from "./resources.ts";

/** The optional extensions of the contract. */
export const EXTENSIONS = ["consume", "outcome", "server"] as const;

/** The name of an extension. */
export type Extension = (typeof EXTENSIONS)[number];

/** An operation for agents in addition to the seven of the contract. */
export interface AgentOperation extends Operation {
  readonly credential: "instance";
  /** Undefined: an operation of the agent surface, which is always enabled. */
  readonly extension: Extension | undefined;
}

/** The operations in addition to the seven of the contract. */
export const AGENT_OPERATIONS = {
  consumeAgentApproval: {
    extension: undefined,
    method: "POST",
    path: "/agent/v1/requests/:id/consume",
    credential: "instance",
    idempotencyKey: true,
    success: [200],
    errors: [400, 401, 403, 404, 409, 429, 500, 503],
  },
  consumeApproval: {
    extension: "consume",
    method: "POST",
    path: "/v1/requests/:id/consume",
    credential: "instance",
    idempotencyKey: true,
    success: [200],
    errors: [400, 401, 403, 404, 409, 429, 500, 503],
  },
  reportOutcome: {
    extension: "outcome",
    method: "POST",
    path: "/v1/requests/:id/outcome",
    credential: "instance",
    idempotencyKey: false,
    success: [200],
    errors: [400, 401, 403, 404, 409, 429, 500, 503],
  },
} as const satisfies Record<string, AgentOperation>;

/** The names of {@link AGENT_OPERATIONS}. */
export type AgentOperationName = keyof typeof AGENT_OPERATIONS;

/** The answer of `consumeAgentApproval`. */
export interface ConsumedApproval {
  /** The id of the approved request. */
  readonly id: string;
  readonly consumed_at: string;
}

/** The outcome of a call, as the agent reports it. */
export type OutcomeStatus = "succeeded" | "failed";

/** The use of an approval. Present if the approval was consumed and the extension is enabled. */
export interface Consumption {
  readonly consumed_at: string;
  readonly outcome?: {
    readonly status: OutcomeStatus;
    readonly note?: string;
    readonly reported_at: string;
  };
}

/** The wire format of a request when extensions are enabled. */
export interface ExtendedApprovalRequest extends ApprovalRequest {
  readonly server?: string;
  readonly consumption?: Consumption;
}

/** The agent's report of a call that it started. */
export interface OutcomeInput {
  readonly status: OutcomeStatus;
  readonly note: string | undefined;
}

/**
 * Validates the body of an outcome report.
 *
 * @throws Problem `invalid_request` with the first invalid field
 */
export function parseOutcome(body: JsonValue): OutcomeInput {
  const fields = new Fields(body, ["status", "note"]);
  const status = fields.required("status", fields.text("status", 1));
  if (status !== "succeeded" && status !== "failed") {
    throw invalidField("status", "must be succeeded or failed");
  }
  const note = fields.text("note", 1);
  if (note !== undefined && note.length > OUTCOME_NOTE_CHARS_MAX) {
    throw invalidField("note", `must not be longer than ${OUTCOME_NOTE_CHARS_MAX} characters`);
  }
  return { status, note };
}
