/**
 * What released clients of the protocol send beyond the contract, and an operator may admit. None
 * of it is part of the contract: a provider that admits nothing answers as the contract says.
 *
 * @see docs/reference/extensions.md
 */

import { Fields, invalidField } from "./fields.ts";
import type { JsonValue } from "./json.ts";
import { OUTCOME_NOTE_CHARS_MAX } from "./limits.ts";
import type { Operation } from "./operations.ts";
import type { ApprovalRequest } from "./resources.ts";

export const EXTENSIONS = ["consume", "outcome", "server"] as const;

export type Extension = (typeof EXTENSIONS)[number];

/** The operations beside the seven, each with the extension that admits it. */
export const EXTENSION_OPERATIONS = {
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
} as const satisfies Record<string, Operation & { readonly extension: Extension }>;

export type ExtensionOperationName = keyof typeof EXTENSION_OPERATIONS;

/** What an agent says became of its call. */
export type OutcomeStatus = "succeeded" | "failed";

/** Present once an approval was consumed, where the provider admits that. */
export interface Consumption {
  readonly consumed_at: string;
  readonly outcome?: {
    readonly status: OutcomeStatus;
    readonly note?: string;
    readonly reported_at: string;
  };
}

/** A request as it stands on the wire where extensions are admitted. */
export interface ExtendedApprovalRequest extends ApprovalRequest {
  readonly server?: string;
  readonly consumption?: Consumption;
}

export interface OutcomeInput {
  readonly status: OutcomeStatus;
  readonly note: string | undefined;
}

/** @throws Problem `invalid_request` naming the first wrong field */
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
