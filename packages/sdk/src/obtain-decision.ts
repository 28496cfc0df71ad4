/**
 * From a call to the provider's answer: submits it, polls until there is a decision or the window
 * is over, and takes back what is given up.
 *
 * Called by: the gate. Promises: ends, whatever the provider does; never throws.
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
  /** For taking back what is given up. */
  readonly cancelMs: number;
  /** True: does not wait for a decision. */
  readonly isAsync: boolean;
}

export type Obtained =
  /** Terminal, or pending when nobody waits. */
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
    const isAbandoned = signal?.aborted === true;
    if (request !== undefined) await giveUp(request, by);
    else if (isAbandoned) await giveUpWhenCreated(creating, ended, by);
    return isAbandoned ? { kind: "abandoned", request } : { kind: "failed", request, error };
  }
}

/** @throws what the client throws; the signal's reason; `unavailable` past the window */
async function poll(created: ApprovalRequest, by: Obtaining): Promise<ApprovalRequest> {
  const { client, timing, signal } = by;
  const giveUpAt = timing.monotonic() + created.deadlineAt - created.createdAt + by.graceMs;
  let request = created;
  let pauseMs = PAUSE_MS_MIN;
  while (request.status === "pending" && !by.isAsync) {
    const askedAt = timing.monotonic();
    const withinMs = giveUpAt - askedAt;
    if (withinMs <= 0) {
      const message = "The window of the request is over, and the provider calls it pending still.";
      throw new SdkError("unavailable", message);
    }
    const reading = client.read(request, { wait: POLL_WAIT, signal, withinMs });
    request = await abortable(reading, signal);
    // Held polls follow one another; who answers at once is not asked in a tight loop.
    const isHeld = timing.monotonic() - askedAt >= PAUSE_MS_MAX;
    if (request.status !== "pending" || isHeld) continue;
    await timing.sleep(pauseMs, signal);
    pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX);
  }
  return request;
}

/** Best effort: a request that stays is decided for nobody, and expires. */
async function giveUp(request: ApprovalRequest, { client, cancelMs }: Obtaining): Promise<void> {
  if (request.status !== "pending") return;
  await client.cancel(request, { withinMs: cancelMs }).catch(() => {});
}

async function giveUpWhenCreated(
  creating: Promise<ApprovalRequest>,
  ended: AbortController,
  by: Obtaining,
): Promise<void> {
  const bound = new AbortController();
  const timer = by.timing.sleep(by.cancelMs, bound.signal).then(
    () => ended.abort(),
    () => {},
  );
  try {
    await giveUp(await abortable(creating, ended.signal), by);
  } catch {
    // It was not created, or nobody knows.
  }
  bound.abort();
  await timer;
}
