/**
 * The errors of the SDK. Match `code`, not the class: two copies of a package have two classes.
 *
 * Promises: no message or property contains a credential or a signing secret. `cause` is set only
 * for errors that contain no data of an exchange.
 */

/**
 * - `invalid_option`: a constructor received an invalid option
 * - `invalid_call`: a method received input that cannot be submitted
 * - `refused`: the provider answered 4xx; an unchanged retry has the same result
 * - `unavailable`: no answer, or only 429 or 5xx, until the time limit for retries
 * - `unsupported`: the provider does not have an operation outside the contract
 * - `redirected`: the provider answered with a redirect; the SDK does not follow redirects
 * - `invalid_answer`: an answer violates the contract, so the SDK rejected it
 * - `credential_taken`: the program called `take()` of a credential a second time
 * - `invalid_webhook`: a message to the receiver is not a webhook of the contract
 * - `invalid_signature`: no secret matches the signature of a webhook
 * - `invalid_timestamp`: a webhook was signed too long ago, or a clock is wrong
 */
export type SdkErrorCode =
  | "invalid_option"
  | "invalid_call"
  | "refused"
  | "unavailable"
  | "unsupported"
  | "redirected"
  | "invalid_answer"
  | "credential_taken"
  | "invalid_webhook"
  | "invalid_signature"
  | "invalid_timestamp";

/** Details of an {@link SdkError}. All are undefined where they do not apply. */
export interface SdkErrorDetail {
  /** HTTP status of the answer, if there was one. */
  readonly status?: number | undefined;
  /** `error.code` of the provider's error envelope, such as `idempotency_conflict`. */
  readonly providerCode?: string | undefined;
  /** `error.param` of the provider's error envelope: the field that caused the error. */
  readonly param?: string | undefined;
  /** X-Request-ID of the exchange. Report it to the provider's operator. */
  readonly exchangeId?: string | undefined;
  /** Retry-After of the answer, ms. */
  readonly retryAfterMs?: number | undefined;
  /** Idempotency key of the operation. Retry with this key and the same input. */
  readonly idempotencyKey?: string | undefined;
  /** The error of the runtime, or of the program's own code, that caused this one. */
  readonly cause?: unknown;
}

/** The error that the SDK throws. */
export class SdkError extends Error {
  /** Identifies the class in logs. */
  override readonly name = "SdkError";
  /** The kind of error, for programs. */
  readonly code: SdkErrorCode;
  /** HTTP status of the answer; undefined without an answer. */
  readonly status: number | undefined;
  /** `error.code` of the provider's error envelope, such as `idempotency_conflict`. */
  readonly providerCode: string | undefined;
  /** `error.param` of the provider's error envelope: the field that caused the error. */
  readonly param: string | undefined;
  /** X-Request-ID of the exchange. Report it to the provider's operator. */
  readonly exchangeId: string | undefined;
  /** Retry-After of the answer, ms. */
  readonly retryAfterMs: number | undefined;
  /** Idempotency key of the operation. Retry with this key and the same input. */
  readonly idempotencyKey: string | undefined;

  /** @param message the failure and how to fix it */
  constructor(code: SdkErrorCode, message: string, detail: SdkErrorDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = code;
    this.status = detail.status;
    this.providerCode = detail.providerCode;
    this.param = detail.param;
    this.exchangeId = detail.exchangeId;
    this.retryAfterMs = detail.retryAfterMs;
    this.idempotencyKey = detail.idempotencyKey;
  }
}

/** How to fix a refusal, by the provider's code, or else by the status. */
const ADVICE: Readonly<Record<string, string>> = {
  400: "Correct what is submitted.",
  401: "Check the API key; it may be expired, or revoked with its instance.",
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
  for (const key of [providerCode ?? "", String(status)]) {
    if (Object.hasOwn(ADVICE, key)) return ADVICE[key] ?? "";
  }
  return "Ask the provider's operator.";
}
