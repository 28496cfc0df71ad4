/**
 * Writes resources as JSON from stored text. Arguments and context are copied letter for letter:
 * a parse and a write in between would round numbers and lose spellings (promise I10).
 *
 * @see contract: Resources and their fields
 */

import { formatTimestamp } from "@countersign/protocol";
import type { AnsweredInstance } from "../core/instance.ts";
import type { StoredDecision, StoredRequest } from "../core/request.ts";

export function writeApprovalRequest(request: StoredRequest): string {
  return `{${approvalRequestMembers(request)}}`;
}

/** The members without braces, for resources that add to them. */
export function approvalRequestMembers(request: StoredRequest): string {
  const { agentReasoning, context, decision } = request;
  return (
    `"id":"${request.id}","tool":${request.tool},"arguments":${request.arguments}` +
    `,"timeout":"${request.timeout}"` +
    (agentReasoning === null ? "" : `,"agent_reasoning":${agentReasoning}`) +
    (context === null ? "" : `,"context":${context}`) +
    `,"status":"${request.status}"` +
    `,"created_at":"${formatTimestamp(request.createdAt)}"` +
    `,"deadline_at":"${formatTimestamp(request.deadlineAt)}"` +
    (decision === null ? "" : `,"decision":${writeDecision(decision)}`)
  );
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
