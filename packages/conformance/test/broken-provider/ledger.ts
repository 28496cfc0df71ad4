/**
 * The state of the provider under test, in memory, until it stops.
 */

import type { CreateApprovalRequestInput, JsonValue, WebhookUrl } from "@countersign/protocol";

/** The members of an object by name, as JSON text. The writer omits undefined members. */
export type Members = Readonly<Record<string, string | undefined>>;

export type Terminal = "approved" | "denied" | "expired" | "cancelled";

/** The cause of a terminal status. */
export type Cause = "verdict" | "deadline" | "cancel" | "deletion";

export interface Provisioner {
  readonly token: string;
  /** The scope: instances of other projects do not exist for it. */
  readonly project: string;
}

/** The caller that a token authenticates. */
export type Caller =
  | { readonly kind: "provisioner"; readonly provisioner: Provisioner }
  | { readonly kind: "instance"; readonly instance: StoredInstance };

export interface Receiver {
  readonly url: WebhookUrl;
  readonly registrationId: string;
  readonly signingSecret: string;
}

export interface StoredInstance {
  readonly id: string;
  readonly project: string;
  readonly token: string;
  /** Epoch ms; undefined: the credential lasts as long as the instance. */
  readonly credentialExpiresAt: number | undefined;
  name: string;
  receiver: Receiver | undefined;
  isDeleted: boolean;
  isRevoked: boolean;
}

export interface StoredDecision {
  readonly status: Terminal;
  readonly note: string | undefined;
  readonly decidedAt: number;
  readonly expiresAt: number | undefined;
}

export interface StoredRequest {
  readonly id: string;
  readonly instance: StoredInstance;
  readonly input: CreateApprovalRequestInput;
  readonly createdAt: number;
  deadlineAt: number;
  decision: StoredDecision | undefined;
  /** Ends the polls that are held. */
  readonly polls: Set<() => void>;
  timer: NodeJS.Timeout | undefined;
}

export interface StoredEvent {
  readonly id: string;
  readonly request: StoredRequest;
  readonly decision: StoredDecision;
  /** The bytes of every attempt. */
  readonly body: Buffer;
  attempts: number;
  isEnded: boolean;
  isInFlight: boolean;
  timer: NodeJS.Timeout | undefined;
}

/** A key that was used, with what it was used for. */
export interface Kept {
  readonly body: JsonValue;
  /** The answer of the first attempt; rejected when that has failed. */
  readonly result: Promise<{ readonly instance: StoredInstance; readonly text: string }>;
}

export interface ProviderOptions {
  /** PEM of the authorities that sign the receivers' certificates. */
  readonly ca?: readonly string[];
  /** False: a synchronous-only provider. */
  readonly webhooks?: boolean;
  /** Non-public addresses that receivers may have; 127.0.0.1 without it. */
  readonly receiverAddresses?: readonly string[];
  /** Of approvals; a minute without it. */
  readonly validityMs?: number;
  /** Between the first attempt of a notification and the second; it doubles from there. */
  readonly backoffMs?: number;
  /** The longest time between two attempts; an hour without it. */
  readonly backoffMsMax?: number;
  /** Of an attempt at a receiver, at most ten seconds. */
  readonly attemptMs?: number;
  /** Of instance credentials; without it they do not expire. */
  readonly credentialMs?: number;
}

/** Everything that it stores. */
export interface Records {
  readonly options: Required<Omit<ProviderOptions, "credentialMs">> & {
    readonly credentialMs: number | undefined;
  };
  readonly provisioners: readonly Provisioner[];
  readonly instances: Map<string, StoredInstance>;
  readonly requests: Map<string, StoredRequest>;
  readonly events: Map<string, StoredEvent>;
  /** By the scope of their keys. */
  readonly provisionings: Map<string, Kept>;
  readonly updates: Map<string, Kept>;
  readonly submissions: Map<string, { readonly body: JsonValue; readonly request: StoredRequest }>;
  /** Aborted when the provider is stopped. */
  readonly closing: AbortController;
}
