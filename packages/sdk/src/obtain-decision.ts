/**
 * Obtains a decision: submits a call, polls until the decision or the deadline, and cancels the
 * request when the caller aborts.
 *
 * Promises: it always settles, never throws, and does not wait for a cancellation.
 */

import type { ApprovalRequest } from "./answer.ts";
import type { ApprovalProvider, CreateInput } from "./approval-client.ts";
import { TIMER_MS_MAX } from "./bounds.ts";
import { abortable, type Timing } from "./clock.ts";
import { type Duration, readDuration } from "./duration.ts";
import { SdkError } from "./errors.ts";

export interface Obtaining {
  readonly provider: ApprovalProvider;
  readonly timing: Timing;
  readonly signal: AbortSignal | undefined;
  /** Time that polling continues after the deadline. */
  readonly graceMs: number;
  /** Time limit for the cancellation of a request. */
  readonly cancelTimeout: Duration;
  /** Receives a request that is not decided yet. */
  readonly onPending: (request: ApprovalRequest) => void;
  /** Receives the error of an outage while the request waits. Called once for each outage. */
  readonly onOutage: (error: SdkError) => void;
  /** Receives a cancellation that is still running. It never rejects. */
  readonly inBackground: (cancelling: Promise<void>) => void;
  /** False: does not wait for a decision. */
  readonly waits: boolean;
}

export type Obtained =
  /** Terminal, or pending if `waits` is false. */
  | { readonly kind: "answered"; readonly request: ApprovalRequest }
  | { readonly kind: "abandoned"; readonly request: ApprovalRequest | undefined }
  | {
      readonly kind: "failed";
      readonly request: ApprovalRequest | undefined;
      readonly error: unknown;
    };

const POLL_WAIT = "25s";

/** Between two polls of a provider without long polling. */
const PAUSE_MS_MIN = 100;
const PAUSE_MS_MAX = 2_000;

/** A proxy may answer while the provider restarts. With the pauses, the total is about 13 s. */
const BAD_ANSWERS_MAX = 10;

/** A proxy or a deployment ends single polls, so the first failure is not an outage. */
const OUTAGE_FAILURES = 2;

export async function obtainDecision(input: CreateInput, by: Obtaining): Promise<Obtained> {
  const { signal } = by;
  if (signal?.aborted) return { kind: "abandoned", request: undefined };
  // The caller's signal does not abort it: a cancellation needs the request id of its answer.
  const ended = new AbortController();
  const creating = (async () => by.provider.create(input, { signal: ended.signal }))();
  let request: ApprovalRequest | undefined;
  try {
    request = await abortable(creating, signal);
    if (request.status === "pending") by.onPending(request);
    return { kind: "answered", request: await poll(request, by) };
  } catch (error) {
    // Do not cancel: a reviewer may be reading the request, and the same key finds it again.
    if (!signal?.aborted) return { kind: "failed", request, error };
    by.inBackground(
      request === undefined ? cancelCreated(creating, ended, by) : cancel(request, by),
    );
    return { kind: "abandoned", request };
  }
}

/** @throws any error of the client; the signal's reason; `unavailable` after the grace period */
async function poll(created: ApprovalRequest, by: Obtaining): Promise<ApprovalRequest> {
  const { provider, timing, signal } = by;
  const giveUpAt = timing.monotonic() + created.deadlineAt - created.createdAt + by.graceMs;
  let request = created;
  let pauseMs = PAUSE_MS_MIN;
  let badAnswers = 0;
  while (request.status === "pending" && by.waits) {
    const askedAt = timing.monotonic();
    const leftMs = giveUpAt - askedAt;
    if (leftMs <= 0) {
      const message =
        "The deadline has passed, but the provider still reports the request as pending.";
      throw new SdkError("unavailable", message);
    }
    try {
      const retryFor: Duration = `${Math.ceil(Math.min(leftMs, TIMER_MS_MAX))}ms`;
      const onRetry = outageReporter(by);
      const reading = provider.read(request, { wait: POLL_WAIT, signal, retryFor, onRetry });
      request = await abortable(reading, signal);
      badAnswers = 0;
    } catch (error) {
      if (!isBadAnswer(error) || ++badAnswers > BAD_ANSWERS_MAX) throw error;
    }
    // Long polls need no pause. The pause prevents a tight loop with immediate answers.
    const wasLongPoll = timing.monotonic() - askedAt >= PAUSE_MS_MAX;
    if (request.status !== "pending" || wasLongPoll) continue;
    await timing.sleep(pauseMs, signal);
    pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX);
  }
  return request;
}

/** @returns a function that receives the failures of one poll */
function outageReporter({ onOutage }: Obtaining): (error: SdkError) => void {
  let failures = 0;
  return (error) => {
    failures++;
    if (failures === OUTAGE_FAILURES) onOutage(error);
  };
}

/** An answer without the state of the request: malformed, a redirect or 4xx. */
function isBadAnswer(error: unknown): boolean {
  const codes: unknown[] = ["invalid_answer", "redirected", "refused"];
  return codes.includes((Object(error) as Partial<SdkError>).code);
}

/** Best effort: a request that is not cancelled expires. */
async function cancel(
  request: ApprovalRequest,
  { provider, cancelTimeout }: Obtaining,
): Promise<void> {
  if (request.status !== "pending") return;
  try {
    await provider.cancel(request, { retryFor: cancelTimeout });
  } catch {
    // The request expires.
  }
}

async function cancelCreated(
  creating: Promise<ApprovalRequest>,
  ended: AbortController,
  by: Obtaining,
): Promise<void> {
  const cancelTimer = by.timing.after(readDuration("cancelTimeout", by.cancelTimeout, 0), () =>
    ended.abort(),
  );
  try {
    await cancel(await abortable(creating, ended.signal), by);
  } catch {
    // The request was not created, or its id is unknown.
  } finally {
    cancelTimer();
  }
}
