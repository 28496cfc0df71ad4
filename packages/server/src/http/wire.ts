/**
 * Writes resources as JSON from stored text. Arguments and context are copied letter for letter:
 * a parse and a write in between would round numbers and lose spellings (promise I10).
 *
 * @see contract: Resources and their fields
 */

import { formatTimestamp } from "@countersign/protocol";
import type { StoredConsumption, StoredOutcome } from "../core/consumption.ts";
import type { AnsweredInstance } from "../core/instance.ts";
import type { StoredDecision, StoredRequest } from "../core/request.ts";

/** What is said of a request beyond the contract, where it is admitted. */
export interface Beyond {
  /** Whether the server is named that the call names. */
  readonly server: boolean;
  /** Undefined: the approval was not used, or that is not said. */
  readonly consumption: StoredConsumption | undefined;
}

const NOTHING: Beyond = { server: false, consumption: undefined };

/** @param beyond without it, exactly what the contract has */
export function writeApprovalRequest(request: StoredRequest, beyond = NOTHING): string {
  return `{${approvalRequestMembers(request, beyond)}}`;
}

/** The members without braces, for resources that add to them. */
export function approvalRequestMembers(
  request: StoredRequest,
  { server, consumption }: Beyond,
): string {
  const { agentReasoning, context, decision } = request;
  return (
    `"id":"${request.id}","tool":${request.tool},"arguments":${request.arguments}` +
    (server && request.server !== null ? `,"server":${request.server}` : "") +
    `,"timeout":"${request.timeout}"` +
    (agentReasoning === null ? "" : `,"agent_reasoning":${agentReasoning}`) +
    (context === null ? "" : `,"context":${context}`) +
    `,"status":"${request.status}"` +
    `,"created_at":"${formatTimestamp(request.createdAt)}"` +
    `,"deadline_at":"${formatTimestamp(request.deadlineAt)}"` +
    (decision === null ? "" : `,"decision":${writeDecision(decision)}`) +
    (consumption === undefined ? "" : `,"consumption":${writeConsumption(consumption)}`)
  );
}

function writeConsumption({ consumedAt, outcome }: StoredConsumption): string {
  const reported = outcome === null ? "" : `,"outcome":${writeOutcome(outcome)}`;
  return `{"consumed_at":"${formatTimestamp(consumedAt)}"${reported}}`;
}

function writeOutcome({ status, note, reportedAt }: StoredOutcome): string {
  const said = note === null ? "" : `,"note":${note}`;
  return `{"status":"${status}"${said},"reported_at":"${formatTimestamp(reportedAt)}"}`;
}

function writeDecision({ status, note, decidedAt, expiresAt }: StoredDecision): string {
  return (
    `{"status":"${status}"` +
    (note === null ? "" : `,"note":${note}`) +
    `,"decided_at":"${formatTimestamp(decidedAt)}"` +
    (expiresAt === null ? "" : `,"expires_at":"${formatTimestamp(expiresAt)}"`) +
    "}"
  );
}

/** Never with the signing secret. */
export function writeInstance({ id, name, receiver }: AnsweredInstance): string {
  const delivery = receiver === null ? "" : `,"delivery":${writeDelivery(receiver)}`;
  return `{"id":"${id}","name":${name}${delivery}}`;
}

function writeDelivery({ url, registrationId }: NonNullable<AnsweredInstance["receiver"]>): string {
  return JSON.stringify({ type: "webhook", url, registration_id: registrationId });
}

export function writeProvisioning(instance: AnsweredInstance, token: string): string {
  return `{"instance":${writeInstance(instance)},"credential":{"token":"${token}"}}`;
}
