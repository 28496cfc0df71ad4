/**
 * The problem types of the Access Request and Approval Profile.
 *
 * @see AuthZEN Access Request and Approval Profile, draft 1, Error Responses
 */

/** The HTTP status of each type, and the default explanation. */
const REFUSALS = {
  not_requestable: [400, "The submission has no denial. Evaluate the call first."],
  expired_denial: [410, "The denial has expired. Evaluate the call again."],
  invalid_denial_binding: [
    400,
    "The denial is not of this call, or was changed. Echo binding_token and expires_at " +
      "unchanged, and send the same subject, action, resource and context.",
  ],
  duplicate_request: [
    409,
    "This Idempotency-Key was already used with a different submission. Use a new key.",
  ],
  unknown_task: [404, "The task does not exist, or this credential has no access to it."],
  invalid_task_state: [409, "The task has already ended. Read it to see its status."],
} as const satisfies Readonly<Record<string, readonly [number, string]>>;

export type AccessRefusalType = keyof typeof REFUSALS;

/** An expected error of a submission or a task. */
export class AccessRefusal extends Error {
  override readonly name = "AccessRefusal";
  readonly type: AccessRefusalType;
  readonly status: number;

  constructor(type: AccessRefusalType) {
    const [status, message] = REFUSALS[type];
    super(message);
    this.type = type;
    this.status = status;
  }
}

/** The URI of a problem type. */
export function refusalUri(type: AccessRefusalType): string {
  return `urn:openid:authzen:access-request:error:${type}`;
}
