/**
 * Every error of both APIs as one table: code, HTTP status, envelope type and default message.
 * docs/reference/errors.md documents each code; a tidy rule compares the two.
 *
 * @see contract: Errors
 */

export type ProblemType =
  | "invalid_request"
  | "authentication"
  | "authorization"
  | "not_found"
  | "conflict"
  | "rate_limit"
  | "dependency"
  | "internal";

/** The response to a kind of problem. */
interface ProblemRow {
  readonly status: number;
  readonly type: ProblemType;
  /** The default message. */
  readonly message: string;
}

/** The problems of all APIs of the server, by error code. */
export const PROBLEMS = {
  invalid_request: row(400, "invalid_request", "The request is malformed."),
  invalid_json: row(400, "invalid_request", "The body is not valid JSON."),
  duplicate_key: row(400, "invalid_request", "An object has the same key twice."),
  too_deep: row(400, "invalid_request", "The JSON is nested too deeply. Flatten it."),
  number_too_long: row(
    400,
    "invalid_request",
    "A number has too many characters. Send it as a string.",
  ),
  body_too_large: row(
    400,
    "invalid_request",
    "The body is larger than this operation allows. Send less data.",
  ),
  invalid_webhook_url: row(
    400,
    "invalid_request",
    "The receiver URL is malformed or unsafe. Its host must resolve to public addresses only.",
  ),
  unsupported_delivery_type: row(
    400,
    "invalid_request",
    "This delivery type is not supported. Use webhook.",
  ),
  method_not_allowed: row(
    405,
    "invalid_request",
    "This path does not support this method. The Allow header lists the supported methods.",
  ),
  invalid_credential: row(
    401,
    "authentication",
    "The credential is missing, expired, revoked or invalid. Send a valid token, or sign in again.",
  ),
  wrong_credential_kind: row(
    403,
    "authorization",
    "This kind of credential does not permit this operation. Use a provisioner token for " +
      "instances, an instance credential for requests, and a reviewer token for reviews.",
  ),
  forbidden: row(
    403,
    "authorization",
    "This credential does not permit this operation. Use one with the required role and scope.",
  ),
  stale_sign_in: row(
    403,
    "authorization",
    "You signed in more than 10 minutes ago. Sign in again, then repeat the request.",
  ),
  sign_in_refused: row(
    403,
    "authorization",
    "The sign-in with the identity provider failed. Sign in again.",
  ),
  passkey_refused: row(
    403,
    "authorization",
    "The passkey response is not valid. Request a new challenge.",
  ),
  cross_origin: row(
    403,
    "authorization",
    "The request does not come from a page of this server. Open the console at public_url, " +
      "or send a token.",
  ),
  not_found: row(
    404,
    "not_found",
    "Not found, or you do not have access. Check the path, the id and the credential.",
  ),
  idempotency_conflict: row(
    409,
    "conflict",
    "This Idempotency-Key was already used with different input. Use a new key for new input.",
  ),
  already_terminal: row(
    409,
    "conflict",
    "The request already has a decision. Read the request to see it.",
  ),
  instance_deleted: row(
    409,
    "conflict",
    "The instance of this Idempotency-Key was deleted. Provision another one with a new key.",
  ),
  update_superseded: row(
    409,
    "conflict",
    "A later update changed the instance while the receiver of this update was being verified. " +
      "Read the instance, then send the update with a new Idempotency-Key if it is still needed.",
  ),
  not_approved: row(409, "conflict", "The request is not approved. Do not run the call."),
  approval_expired: row(409, "conflict", "The approval has expired. Submit a new request."),
  already_consumed: row(
    409,
    "conflict",
    "Another key already consumed this approval. Do not run the call again.",
  ),
  calls_frozen: row(
    409,
    "conflict",
    "A freeze blocks the calls of this instance. Do not run the call.",
  ),
  not_consumed: row(
    409,
    "conflict",
    "The approval is not consumed. Consume it before you report an outcome.",
  ),
  outcome_conflict: row(
    409,
    "conflict",
    "A different outcome of this call was already reported. The first report remains.",
  ),
  policy_conflict: row(
    409,
    "conflict",
    "Another version of the policy was published. Read it, then publish again.",
  ),
  arguments_mismatch: row(
    409,
    "conflict",
    "arguments_sha256 is not the digest of the stored arguments. Fetch the request again.",
  ),
  policy_invalid: row(422, "invalid_request", "The policy is invalid. Correct each finding."),
  webhook_verification_failed: row(
    422,
    "invalid_request",
    "The receiver failed verification. It must return status 200 and the challenge within 10 s.",
  ),
  rate_limited: row(
    429,
    "rate_limit",
    "Too many requests. Retry after the time in the Retry-After header.",
  ),
  internal: row(
    500,
    "internal",
    "The provider could not complete the operation. Retry, or search the server log for " +
      "request_id.",
  ),
  unavailable: row(
    503,
    "dependency",
    "The provider is temporarily unavailable. Retry later with the same input.",
  ),
} as const satisfies Record<string, ProblemRow>;

/** The error code of a problem. */
export type ProblemCode = keyof typeof PROBLEMS;

/** One fault in a submitted text. A text can have several. */
export interface ProblemFinding {
  /** Both from 1. */
  readonly line: number;
  readonly column: number;
  /** Path in the text, such as `rules[3].when`; empty for the whole text. */
  readonly path: string;
  readonly message: string;
}

/** Details of one problem. */
export interface ProblemDetail {
  /** The invalid input field: a path in the body, a header or a query parameter. */
  readonly param?: string | undefined;
  /** Seconds to wait before a retry. */
  readonly retryAfterS?: number | undefined;
  /** All faults of a text. The contract's operations never send codes with this field. */
  readonly findings?: readonly ProblemFinding[] | undefined;
}

/**
 * An expected error. The caller receives its message unchanged, so the message never contains a
 * credential, a stored value or an internal detail.
 */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: ProblemCode;
  readonly param: string | undefined;
  readonly retryAfterS: number | undefined;
  readonly findings: readonly ProblemFinding[] | undefined;

  constructor(code: ProblemCode, message?: string, detail: ProblemDetail = {}) {
    super(message ?? PROBLEMS[code].message);
    this.code = code;
    this.param = detail.param;
    this.retryAfterS = detail.retryAfterS;
    this.findings = detail.findings;
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }

  get type(): ProblemType {
    return PROBLEMS[this.code].type;
  }
}

/**
 * The body of an error response.
 *
 * @see contract: Errors, Envelope
 */
export interface ErrorResponse {
  readonly error: {
    readonly type: ProblemType;
    readonly code: string;
    readonly message: string;
    readonly param?: string;
    /** Only in the review API, for `policy_invalid`. */
    readonly findings?: readonly ProblemFinding[];
    readonly request_id: string;
  };
}

/** Builds the body of the response to a problem. */
export function errorResponse(problem: Problem, requestId: string): ErrorResponse {
  const { type, code, message, param, findings } = problem;
  return {
    error: {
      type,
      code,
      message,
      ...(param ? { param } : {}),
      ...(findings ? { findings } : {}),
      request_id: requestId,
    },
  };
}

function row(status: number, type: ProblemType, message: string): ProblemRow {
  return { status, type, message };
}
