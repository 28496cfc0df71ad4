/**
 * How the provider treats any exchange, where a fault can be planted: reading, authenticating,
 * answering.
 */

import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import {
  type CreateApprovalRequestInput,
  type DeliveryRules,
  formatTimestamp,
  type JsonValue,
  OPERATIONS,
  type OperationName,
  Problem,
  type ProvisionInstanceInput,
  parseCreateApprovalRequest,
  parseDuration,
  parseIdentifier,
  parseJsonBytes,
  parseProvisionInstance,
  parseUpdateInstance,
  type UpdateInstanceInput,
} from "@countersign/protocol";
import type { Caller, StoredInstance } from "./ledger.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: there is none. */
  readonly body: string | undefined;
}

/** The exchange of an answer. */
export interface About {
  /** Undefined: the path is not in the contract. */
  readonly operation: OperationName | undefined;
  readonly requestId: string;
  /** It repeats what an earlier exchange with the same key has done. */
  readonly isReplay: boolean;
  /** Of a refusal. */
  readonly problem: Problem | undefined;
  readonly token: string | undefined;
  /** The body of the request. */
  readonly sent: string;
  /** The last part of the path. */
  readonly id: string;
}

export interface ExchangeConduct {
  requestId(): string;
  /** @returns the path by the contract, of the one that was sent */
  path(sent: string): string;
  /** @returns the id as it is stored; undefined when it names nothing */
  pathId(sent: string): string | undefined;
  isJson(contentType: string | undefined): boolean;
  readJson(bytes: Buffer): JsonValue;
  /** @throws Problem without a key where one is needed */
  key(operation: OperationName, headers: IncomingHttpHeaders): string;
  /** @returns undefined when there is no credential */
  token(headers: IncomingHttpHeaders, query: URLSearchParams): string | undefined;
  isValidCredential(instance: StoredInstance, now: number): boolean;
  permits(caller: Caller, operation: OperationName): boolean;
  readCreate(body: JsonValue): CreateApprovalRequestInput;
  readProvision(body: JsonValue, rules: DeliveryRules): ProvisionInstanceInput;
  readUpdate(body: JsonValue, rules: DeliveryRules): UpdateInstanceInput;
  /** @returns milliseconds; zero without a `wait` */
  readWait(text: string | null): number;
  timestamp(ms: number): string;
  /** The last word about what is sent. */
  answer(answer: Answer, about: About): Answer;
}

export const CORRECT_EXCHANGE: ExchangeConduct = {
  requestId: () => randomUUID(),
  path: (sent) => sent,
  pathId: parseIdentifier,
  isJson: (contentType = "") =>
    /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(contentType),
  readJson: parseJsonBytes,
  key(operation, headers) {
    const key = headers["idempotency-key"];
    if (!OPERATIONS[operation].idempotencyKey) return "";
    if (typeof key === "string" && key !== "") return key;
    const param = "Idempotency-Key";
    throw new Problem("invalid_request", `${param} is required.`, { param });
  },
  token: ({ authorization = "" }) => /^Bearer +(\S+)$/i.exec(authorization)?.[1],
  isValidCredential: ({ isRevoked, credentialExpiresAt = Number.POSITIVE_INFINITY }, now) =>
    !isRevoked && now < credentialExpiresAt,
  permits: (caller, operation) => OPERATIONS[operation].credential === caller.kind,
  readCreate: parseCreateApprovalRequest,
  readProvision: parseProvisionInstance,
  readUpdate: parseUpdateInstance,
  readWait(text) {
    if (text === null) return 0;
    const ms = parseDuration(text);
    if (ms !== undefined) return ms;
    throw new Problem("invalid_request", "wait must be like 30s.", { param: "wait" });
  },
  timestamp: formatTimestamp,
  answer: (answer) => answer,
};
