/**
 * Everything the SDK throws. Match `code`, not the class: two copies of a package have two classes.
 *
 * Promises: no message or property holds a credential or a signing secret. `cause` is set only for
 * errors that hold nothing of an exchange.
 */

/**
 * - `invalid_option`: a constructor was given what it cannot work with
 * - `invalid_call`: a call was given what can never be submitted
 * - `refused`: the provider answered 4xx; asking again the same way changes nothing
 * - `unavailable`: no answer, or 429 or 5xx, until the time for asking again was over
 * - `redirected`: the provider answered with a redirect, which is never followed
 * - `invalid_answer`: an answer breaks the contract, so nothing in it is believed
 * - `credential_taken`: a credential is handed over once
 */
export type SdkErrorCode =
  | "invalid_option"
  | "invalid_call"
  | "refused"
  | "unavailable"
  | "redirected"
  | "invalid_answer"
  | "credential_taken";

export interface SdkErrorDetail {
  /** HTTP status of the answer, if there was one. */
  readonly status?: number | undefined;
  /** `error.code` of the provider's envelope, like `idempotency_conflict`. */
  readonly providerCode?: string | undefined;
  /** `error.param` of the provider's envelope. */
  readonly param?: string | undefined;
  /** X-Request-ID of the exchange: for the provider's operator. */
  readonly exchangeId?: string | undefined;
  /** How long the provider asked to be left alone. */
  readonly retryAfterMs?: number | undefined;
  /** Of a keyed operation: with it, and the same input, the operation can be tried again. */
  readonly key?: string | undefined;
  /** The error that this one reports, of the runtime or of a program's own code. */
  readonly cause?: unknown;
}

export class SdkError extends Error {
  override readonly name = "SdkError";
  readonly code: SdkErrorCode;
  readonly status: number | undefined;
  readonly providerCode: string | undefined;
  readonly param: string | undefined;
  readonly exchangeId: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly key: string | undefined;

  /** @param message what happened, and what to do about it */
  constructor(code: SdkErrorCode, message: string, detail: SdkErrorDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = code;
    this.status = detail.status;
    this.providerCode = detail.providerCode;
    this.param = detail.param;
    this.exchangeId = detail.exchangeId;
    this.retryAfterMs = detail.retryAfterMs;
    this.key = detail.key;
  }
}

/** What to do about a refusal, by the provider's code or else by the status. */
const ADVICE: Readonly<Record<string, string>> = {
  400: "Correct what is submitted.",
  401: "Check the token; it may be expired, or revoked with its instance.",
  403:
    "Use the other kind of token: instance credentials submit requests, provisioner tokens " +
    "manage instances.",
  404: "Check the id and the base URL. It may be deleted or belong to another token.",
  409: "Read the current state before doing anything else.",
  422: "Correct the input, then send it with a new key.",
  idempotency_conflict: "Use a new key for each new attempt, and the same input with the same key.",
  already_terminal: "Read the request: it already has its decision.",
  instance_deleted: "Provision a new instance with a new key.",
  update_superseded:
    "Read the instance. If the update is still needed, send it with a new idempotency key.",
  webhook_verification_failed:
    "Make the receiver answer the challenge of this registration, then try again with the same " +
    "key.",
  invalid_webhook_url: "Use an https URL of a public host without user, password or fragment.",
  unsupported_delivery_type: "This provider is polled: leave the delivery out.",
};

export function adviceFor(status: number, providerCode: string | undefined): string {
  return ADVICE[providerCode ?? ""] ?? ADVICE[String(status)] ?? "Ask the provider's operator.";
}
