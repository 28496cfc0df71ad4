/**
 * Writes resources as JSON from stored text. Arguments and context are copied verbatim: parsing and
 * serializing them would round numbers and change spellings (promise I10).
 *
 * @see contract: Resources and their fields
 */

import { type ConsumedApproval, formatTimestamp } from "@countersign/protocol";
import { JsonText, writeJson } from "@countersign/review-api";
import type { StoredConsumption, StoredOutcome } from "../core/consumption.ts";
import type { AnsweredInstance } from "../core/instance.ts";
import type { StoredDecision, StoredRequest } from "../core/request.ts";

/** The fields that enabled extensions add to a request. */
export interface ExtensionFields {
  /** True: include the MCP server of the call. */
  readonly server: boolean;
  /** Undefined: the approval was not used, or the extension is disabled. */
  readonly consumption: StoredConsumption | undefined;
}

const NO_FIELDS: ExtensionFields = { server: false, consumption: undefined };

/** @param extensionFields none by default */
export function writeApprovalRequest(request: StoredRequest, extensionFields = NO_FIELDS): string {
  return writeJson(toWireRequest(request, extensionFields));
}

export function writeConsumedApproval(
  { id }: StoredRequest,
  { consumedAt }: StoredConsumption,
): string {
  const consumed: ConsumedApproval = { id, consumed_at: formatTimestamp(consumedAt) };
  return JSON.stringify(consumed);
}

/** Never includes the signing secret. */
export function writeInstance(instance: AnsweredInstance): string {
  return writeJson(toWireInstance(instance));
}

export function writeProvisioning(instance: AnsweredInstance, token: string): string {
  return writeJson({ instance: toWireInstance(instance), credential: { token } });
}

/** A request in the form of both APIs. */
export function toWireRequest(request: StoredRequest, { server, consumption }: ExtensionFields) {
  const { decision } = request;
  return {
    id: request.id,
    tool: new JsonText(request.tool),
    arguments: new JsonText(request.arguments),
    server: server ? textOf(request.server) : undefined,
    timeout: request.timeout,
    agent_reasoning: textOf(request.agentReasoning),
    context: textOf(request.context),
    status: request.status,
    created_at: formatTimestamp(request.createdAt),
    deadline_at: formatTimestamp(request.deadlineAt),
    decision: decision === null ? undefined : toWireDecision(decision),
    consumption: consumption === undefined ? undefined : toWireConsumption(consumption),
  };
}

/** The stored text of a field; undefined for null. */
export function textOf(stored: string | null): JsonText | undefined {
  return stored === null ? undefined : new JsonText(stored);
}

function toWireDecision({ status, note, decidedAt, expiresAt }: StoredDecision) {
  return {
    status,
    note: textOf(note),
    decided_at: formatTimestamp(decidedAt),
    expires_at: expiresAt === null ? undefined : formatTimestamp(expiresAt),
  };
}

function toWireConsumption({ consumedAt, outcome }: StoredConsumption) {
  return {
    consumed_at: formatTimestamp(consumedAt),
    outcome: outcome === null ? undefined : toWireOutcome(outcome),
  };
}

function toWireOutcome({ status, note, reportedAt }: StoredOutcome) {
  return { status, note: textOf(note), reported_at: formatTimestamp(reportedAt) };
}

function toWireInstance({ id, name, receiver }: AnsweredInstance) {
  return {
    id,
    name: new JsonText(name),
    delivery: receiver === null ? undefined : toWireDelivery(receiver),
  };
}

function toWireDelivery({ url, registrationId }: NonNullable<AnsweredInstance["receiver"]>) {
  return { type: "webhook", url, registration_id: registrationId };
}
