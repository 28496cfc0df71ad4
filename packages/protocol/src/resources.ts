/**
 * The wire format of the contract's resources, for clients and tests. The server writes them from
 * stored text (see http/wire.ts), so it never rounds numbers inside `arguments` and `context`.
 *
 * @see contract: Resources and their fields
 */

/** The outcome of a resolved request. It never changes. */
export type TerminalStatus = "approved" | "denied" | "expired" | "cancelled";

/** The status of a request. */
export type RequestStatus = "pending" | TerminalStatus;

/** The identity of an agent at the provider, as the wire contains it. */
export interface Instance {
  readonly id: string;
  readonly name: string;
  /** Absent when no receiver is configured. */
  readonly delivery?: WebhookDelivery;
}

/** The active, verified receiver, without its signing secret. */
export interface WebhookDelivery {
  readonly type: "webhook";
  readonly url: string;
  readonly registration_id: string;
}

/** The credential of an instance. */
export interface IssuedCredential {
  readonly token: string;
  readonly expires_at?: string;
}

/** The response to the creation of an instance. */
export interface ProvisionInstanceResponse {
  readonly instance: Instance;
  readonly credential: IssuedCredential;
}

/** The decision of a resolved request, as the wire contains it. */
export interface Decision {
  readonly status: TerminalStatus;
  readonly note?: string;
  readonly decided_at: string;
  /** Present if and only if the status is `approved`. */
  readonly expires_at?: string;
}

/** An approval request, as the wire contains it. */
export interface ApprovalRequest {
  readonly id: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly timeout: string;
  readonly agent_reasoning?: string;
  readonly context?: Readonly<Record<string, unknown>>;
  readonly status: RequestStatus;
  readonly created_at: string;
  readonly deadline_at: string;
  readonly decision?: Decision;
}

/** The challenge to a proposed receiver. @see contract: Events, webhook.verification */
export interface WebhookVerification {
  readonly id: string;
  readonly type: "webhook.verification";
  readonly registration_id: string;
  /** May be reserved for an instance that does not exist yet. */
  readonly instance_id: string;
  readonly created_at: string;
  readonly challenge: string;
}

/** The body of an event. The receiver must read the request. @see contract: Events */
export interface RequestResolvedEvent {
  /** Equals the `webhook-id` header. */
  readonly id: string;
  readonly type: "request.resolved";
  readonly instance_id: string;
  readonly request_id: string;
  /** Equals `decision.decided_at`. */
  readonly created_at: string;
}
