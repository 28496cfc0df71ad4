/**
 * Obtains a decision: submits a call, polls until the decision or the deadline, and cancels the
 * request when the caller aborts.
 *
 * Promises: it always settles, never throws, and does not wait for a cancellation.
 */

import type { ApprovalRequest } from "./answer.ts";
import type { Approvals, CreateInput } from "./client.ts";
import { abortable, type Timing } from "./clock.ts";
import { SdkError } from "./errors.ts";

export interface Obtaining {
  readonly client: Approvals;
  readonly timing: Timing;
  readonly signal: AbortSignal | undefined;
  /** Time that polling continues after the deadline. */
  readonly graceMs: number;
  /** Time limit for the cancellation of a request. */
  readonly cancelMs: number;
  /** Receives a cancellation that is still running. It never rejects. */
  readonly inBackground: (cancelling: Promise<void>) => void;
  /** True: does not wait for a decision. */
  readonly isAsync: boolean;
}

export type Obtained =
  /** Terminal, or pending in async mode. */
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

export async function obtainDecision(input: CreateInput, by: Obtaining): Promise<Obtained> {
  const { signal } = by;
  if (signal?.aborted) return { kind: "abandoned", request: undefined };
  // The caller's signal does not abort it: a cancellation needs the request id of its answer.
  const ended = new AbortController();
  const creating = (async () => by.client.create(input, { signal: ended.signal }))();
  let request: ApprovalRequest | undefined;
  try {
    request = await abortable(creating, signal);
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
  const { client, timing, signal } = by;
  const giveUpAt = timing.monotonic() + created.deadlineAt - created.createdAt + by.graceMs;
  let request = created;
  let pauseMs = PAUSE_MS_MIN;
  let badAnswers = 0;
  while (request.status === "pending" && !by.isAsync) {
    const askedAt = timing.monotonic();
    const withinMs = giveUpAt - askedAt;
    if (withinMs <= 0) {
      const message =
        "The deadline has passed, but the provider still reports the request as pending.";
      throw new SdkError("unavailable", message);
    }
    try {
      const reading = client.read(request, { wait: POLL_WAIT, signal, withinMs });
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

/** An answer without the state of the request: malformed, a redirect or 4xx. */
function isBadAnswer(error: unknown): boolean {
  const codes: unknown[] = ["invalid_answer", "redirected", "refused"];
  return codes.includes((Object(error) as Partial<SdkError>).code);
}

/** Best effort: a request that is not cancelled expires. */
async function cancel(request: ApprovalRequest, { client, cancelMs }: Obtaining): Promise<void> {
  if (request.status !== "pending") return;
  await client.cancel(request, { withinMs: cancelMs }).catch(() => {});
}

async function cancelCreated(
  creating: Promise<ApprovalRequest>,
  ended: AbortController,
  by: Obtaining,
): Promise<void> {
  const cancelTimer = by.timing.after(by.cancelMs, () => ended.abort());
  try {
    await cancel(await abortable(creating, ended.signal), by);
  } catch {
    // The request was not created, or its id is unknown.
  } finally {
    cancelTimer();
  }
}
