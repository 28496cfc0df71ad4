/**
 * Builds the results of calls that do not run, and reports failures to the operator.
 */

import type { ApprovalRequest } from "./answer.ts";
import type { ApprovalProvider } from "./approval-client.ts";
import { SdkError } from "./errors.ts";
import { causeOf } from "./network-error.ts";
import type { Observers } from "./observers.ts";
import type { Obtained } from "./obtain-decision.ts";
import {
  messageFor,
  type NotExecuted,
  type NotExecutedReason,
  STATUS_OF,
  type Suspended,
} from "./result.ts";
import { type Attempt, suspend } from "./suspended-call.ts";

/** Details of a call that does not start. */
interface RefusedCall {
  readonly requestId?: string | undefined;
  readonly note?: string | undefined;
  readonly error?: unknown;
  /** The cause in sentences. Unused with `error`, which has its own. */
  readonly cause?: string | undefined;
}

export class Outcomes {
  readonly #provider: ApprovalProvider;
  readonly #observers: Observers;

  constructor(provider: ApprovalProvider, observers: Observers) {
    this.#provider = provider;
    this.#observers = observers;
  }

  suspended<A extends object>(attempt: Attempt<A>, request: ApprovalRequest): Suspended<A> {
    const { isDevelopment, url } = this.#provider;
    return Object.freeze({
      status: "pending",
      reason: "pending",
      messageForModel: messageFor("pending", isDevelopment),
      pending: suspend(attempt, request, url),
      requestId: request.id,
      reviewUrl: this.#provider.reviewUrlOf?.(request.id),
      deadlineAt: request.deadlineAt,
      isDevelopment,
    });
  }

  /** The result of a call without a decision. */
  failed(obtained: Exclude<Obtained, { readonly kind: "answered" }>): NotExecuted {
    const requestId = obtained.request?.id;
    if (obtained.kind === "abandoned") return this.refused("abandoned", { requestId });
    return this.refused("no_decision", { requestId, error: obtained.error });
  }

  refused(reason: NotExecutedReason, refused: RefusedCall): NotExecuted {
    const { isDevelopment } = this.#provider;
    const { requestId, note, error } = refused;
    const isFailure = reason === "no_decision" || reason === "not_recorded";
    const cause = isFailure ? causeIn(reason, error) : refused.cause;
    const messageForModel = messageFor(reason, isDevelopment, { note, cause });
    if (cause !== undefined) this.#observers.warn(messageForModel);
    const refusal = {
      status: STATUS_OF[reason],
      reason,
      messageForModel,
      requestId,
      note,
      reviewUrl: requestId && this.#provider.reviewUrlOf?.(requestId),
      isDevelopment,
      error,
    };
    // The compiler does not know that the status belongs to the reason.
    return Object.freeze(refusal) as NotExecuted;
  }
}

/** @returns a sentence about the failure that contains no secret */
function causeIn(reason: NotExecutedReason, error: unknown): string | undefined {
  if (error === undefined) return undefined;
  if (error instanceof SdkError) return error.message;
  const part = reason === "not_recorded" ? "store" : "client";
  return `The ${part} failed with ${causeOf(error)}.`;
}
