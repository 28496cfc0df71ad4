/**
 * Resources as they are written: objects whose members are JSON text already, so that arguments
 * leave as they came.
 */

import type { Ledger } from "./conduct.ts";
import type { Members, Receiver, StoredDecision, StoredInstance, StoredRequest } from "./ledger.ts";

export const quote = (value: unknown): string => JSON.stringify(value);

export function objectText(members: Members): string {
  const parts = Object.entries(members).filter(([, text]) => text !== undefined);
  return `{${parts.map(([name, text]) => `${quote(name)}:${text}`).join(",")}}`;
}

const quoted = (value: string | undefined) => (value === undefined ? undefined : quote(value));

export function requestText(ledger: Ledger, request: StoredRequest): string {
  const { conduct } = ledger;
  const { input, decision } = request;
  const members: Members = {
    id: quote(request.id),
    tool: quote(input.tool),
    arguments: input.arguments.source,
    timeout: quote(input.timeout),
    agent_reasoning: quoted(input.agentReasoning),
    context: input.context?.source,
    status: quote(decision?.status ?? "pending"),
    created_at: quote(conduct.timestamp(request.createdAt)),
    deadline_at: quote(conduct.timestamp(request.deadlineAt)),
    decision: decision && decisionText(ledger, decision, request),
  };
  return objectText(conduct.showRequest(members, request));
}

function decisionText(ledger: Ledger, decision: StoredDecision, request: StoredRequest): string {
  const { conduct } = ledger;
  const { status, note, decidedAt, expiresAt } = decision;
  const members: Members = {
    status: quote(status),
    note: quoted(note),
    decided_at: quote(conduct.timestamp(decidedAt)),
    expires_at: expiresAt === undefined ? undefined : quote(conduct.timestamp(expiresAt)),
  };
  return objectText(conduct.showDecision(members, decision, request));
}

export function instanceText({ conduct }: Ledger, instance: StoredInstance): string {
  const { id, name, receiver } = instance;
  const delivery =
    receiver && objectText(conduct.showDelivery(deliveryMembers(receiver), receiver));
  const members: Members = { id: quote(id), name: quote(name), delivery };
  return objectText(conduct.showInstance(members, instance));
}

function deliveryMembers({ url, registrationId }: Receiver): Members {
  return { type: quote("webhook"), url: quote(url.text), registration_id: quote(registrationId) };
}

export function provisionedText(ledger: Ledger, instance: StoredInstance): string {
  const { conduct } = ledger;
  const { token, credentialExpiresAt: at } = instance;
  const credential: Members = {
    token: quote(token),
    expires_at: at === undefined ? undefined : quote(conduct.timestamp(at)),
  };
  return objectText({
    instance: instanceText(ledger, instance),
    credential: objectText(conduct.showCredential(credential, instance)),
  });
}
