/**
 * From a call to the provider's answer: submits it, polls until there is a decision or the window
 * is over, and cancels the request when the caller gives up.
 *
 * Promises: ends, whatever the provider does; never throws; does not wait for a cancellation.
 */

import type { ApprovalRequest } from "./answer.ts";
import type { Approvals, CreateInput } from "./client.ts";
import { abortable, type Timing } from "./clock.ts";
import { SdkError } from "./errors.ts";

export interface Obtaining {
  readonly client: Approvals;
  readonly timing: Timing;
  readonly signal: AbortSignal | undefined;
  /** How long after the deadline the provider may still take to say that it has passed. */
  readonly graceMs: number;
  /** How long the cancellation of a request may take. */
  readonly cancelMs: number;
  /** Keeps the cancellation, which continues after the answer. It never rejects. */
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

/** Between two polls of a provider that does not hold them. */
const PAUSE_MS_MIN = 100;
const PAUSE_MS_MAX = 2_000;

/** A proxy may answer for the provider while that restarts. With the pauses it is 13 s. */
const BAD_ANSWERS_MAX = 10;

export async function obtainDecision(input: CreateInput, by: Obtaining): Promise<Obtained> {
  const { signal } = by;
  if (signal?.aborted) return { kind: "abandoned", request: undefined };
  // Not ended by the caller's signal: only its answer has the id by which it can be taken back.
  const ended = new AbortController();
  const creating = (async () => by.client.create(input, { signal: ended.signal }))();
  let request: ApprovalRequest | undefined;
  try {
    request = await abortable(creating, signal);
    return { kind: "answered", request: await poll(request, by) };
  } catch (error) {
    // A person may be reading the request, and the same key finds it again.
    if (!signal?.aborted) return { kind: "failed", request, error };
    by.inBackground(
      request === undefined ? cancelCreated(creating, ended, by) : cancel(request, by),
    );
    return { kind: "abandoned", request };
  }
}

/** @throws what the client throws; the signal's reason; `unavailable` past the window */
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
    // Held polls follow one another; who answers at once is not asked in a tight loop.
    const wasLongPoll = timing.monotonic() - askedAt >= PAUSE_MS_MAX;
    if (request.status !== "pending" || wasLongPoll) continue;
    await timing.sleep(pauseMs, signal);
    pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX);
  }
  return request;
}

/** The answer was not about the request: malformed, a redirect or 4xx. */
function isBadAnswer(error: unknown): boolean {
  const codes: unknown[] = ["invalid_answer", "redirected", "refused"];
  return codes.includes((Object(error) as Partial<SdkError>).code);
}

/** Best effort: a request that stays expires. */
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
