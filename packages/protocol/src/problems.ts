/**
 * Every error a caller can meet, as one table: code, HTTP status, envelope type and what it
 * means. docs/reference/errors.md explains the same codes; a tidy rule compares the two.
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

interface ProblemRow {
  readonly status: number;
  readonly type: ProblemType;
  /** Said when the thrower has nothing more precise to say. */
  readonly message: string;
}

export const PROBLEMS = {
  invalid_request: row(400, "invalid_request", "The request is malformed."),
  invalid_json: row(400, "invalid_request", "The body is not valid JSON."),
  duplicate_key: row(400, "invalid_request", "An object has the same key twice."),
  too_deep: row(400, "invalid_request", "The JSON is nested too deeply."),
  number_too_long: row(400, "invalid_request", "A number has too many characters."),
  body_too_large: row(400, "invalid_request", "The body is too large."),
  invalid_webhook_url: row(400, "invalid_request", "The receiver URL is malformed or unsafe."),
  unsupported_delivery_type: row(400, "invalid_request", "This delivery type is not supported."),
  method_not_allowed: row(405, "invalid_request", "This path does not support this method."),
  invalid_credential: row(
    401,
    "authentication",
    "The credential is missing, expired, revoked or invalid.",
  ),
  wrong_credential_kind: row(
    403,
    "authorization",
    "This kind of credential does not permit this operation.",
  ),
  forbidden: row(403, "authorization", "This credential does not permit this operation."),
  sign_in_refused: row(403, "authorization", "The sign-in at the identity provider is refused."),
  passkey_refused: row(403, "authorization", "The passkey response was not accepted."),
  cross_origin: row(403, "authorization", "The request does not come from a page of this server."),
  not_found: row(404, "not_found", "There is no such resource for this caller."),
  idempotency_conflict: row(
    409,
    "conflict",
    "This Idempotency-Key was already used with different input.",
  ),
  already_terminal: row(409, "conflict", "The request already has a decision."),
  instance_deleted: row(409, "conflict", "The instance of this Idempotency-Key was deleted."),
  update_superseded: row(
    409,
    "conflict",
    "A later update changed the instance while the receiver of this update was being verified. " +
      "Read the instance, then send the update with a new Idempotency-Key if it is still needed.",
  ),
  not_approved: row(409, "conflict", "The request is not approved."),
  approval_expired: row(409, "conflict", "The approval has expired."),
  already_consumed: row(409, "conflict", "The approval was already used."),
  calls_frozen: row(409, "conflict", "Calls of this instance are frozen."),
  not_consumed: row(409, "conflict", "The approval was not used."),
  outcome_conflict: row(409, "conflict", "Another outcome of this call was reported before."),
  policy_conflict: row(409, "conflict", "Another version of the policy was published meanwhile."),
  arguments_mismatch: row(
    409,
    "conflict",
    "The arguments that were shown are not the arguments of this request.",
  ),
  policy_invalid: row(422, "invalid_request", "The policy has faults."),
  webhook_verification_failed: row(422, "invalid_request", "The receiver failed verification."),
  rate_limited: row(429, "rate_limit", "Too many requests; slow down."),
  internal: row(500, "internal", "The provider could not complete the operation."),
  unavailable: row(503, "dependency", "The provider is temporarily unavailable."),
} as const satisfies Record<string, ProblemRow>;

export type ProblemCode = keyof typeof PROBLEMS;

/** One fault in a text that was sent, of which there can be several. */
export interface ProblemFinding {
  /** Both from 1. */
  readonly line: number;
  readonly column: number;
  /** Place in the text, like `rules[3].when`; empty for all of it. */
  readonly path: string;
  readonly message: string;
}

export interface ProblemDetail {
  /** The input field that is wrong: a path in the body, a header or a query parameter. */
  readonly param?: string;
  /** Seconds after which trying again makes sense. */
  readonly retryAfterS?: number;
  /** Every fault of a text; only of codes that the contract's operations never send. */
  readonly findings?: readonly ProblemFinding[];
}

/**
 * An expected refusal. Its message reaches the caller word for word, so it never holds a
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

/** @see contract: Errors, Envelope */
export interface ErrorResponse {
  readonly error: {
    readonly type: ProblemType;
    readonly code: string;
    readonly message: string;
    readonly param?: string;
    /** On the reviewer surface, of `policy_invalid`. */
    readonly findings?: readonly ProblemFinding[];
    readonly request_id: string;
  };
}

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
