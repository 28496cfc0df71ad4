/**
 * Records the use of an approval, in a store or at the provider, right before its call starts.
 *
 * Promises: for one key and one request, it permits one start, also with concurrent callers.
 */

import { RETENTION_MS_MIN } from "@countersign/protocol";
import type { ApprovalProvider } from "./approval-client.ts";
import { abortable } from "./clock.ts";
import type { ConsumptionStore } from "./consumption-store.ts";
import { SdkError } from "./errors.ts";
import type { NotExecutedReason } from "./result.ts";
import { recordOf } from "./result-keeper.ts";

export interface Use {
  readonly provider: ApprovalProvider;
  /** Undefined: the provider records the use. */
  readonly store: ConsumptionStore | undefined;
  readonly idempotencyKey: string;
  readonly requestId: string;
  /** Creation of the request by the provider's clock, epoch ms. */
  readonly createdAt: number;
  /** By how much the provider's clock is ahead of this process's clock, ms. */
  readonly leadMs: number;
  readonly signal: AbortSignal | undefined;
  /** Expiry of the approval, epoch ms. */
  readonly expiresAt: number;
  /** The later of this process's clock and the provider's clock, epoch ms. */
  readonly now: () => number;
}

/** Why the call must not start. */
export interface UseRefusal {
  readonly reason: NotExecutedReason;
  readonly error?: unknown;
}

/** Stores keep a record for one more day. @see contract: Limits, retention */
const VALIDITY_MS_MAX = RETENTION_MS_MIN;

const TOO_LONG =
  "The approval is valid for more than 7 days. A store keeps its records for 8 days. Let the " +
  "provider record uses, or shorten the validity of approvals.";

const BEFORE_STORE =
  "The request is older than the store in memory, so an earlier process may have run the call. " +
  "Use a new idempotencyKey for each call, and a store that outlives the process, or none.";

/** The reasons by the provider's error code. */
const REFUSALS: Readonly<Record<string, NotExecutedReason>> = {
  already_consumed: "already_used",
  approval_expired: "lapsed",
  calls_frozen: "frozen",
};

/**
 * @param mayStart checks the validity of the approval
 * @returns undefined if the call may start
 */
export async function recordUse(
  use: Use,
  mayStart: () => boolean,
): Promise<UseRefusal | undefined> {
  const { signal } = use;
  if (signal?.aborted) return { reason: "abandoned" };
  if (!mayStart()) return { reason: (await wasUsed(use)) ? "already_used" : "lapsed" };
  try {
    const recording = use.store === undefined ? consumeAtProvider(use) : consumeInStore(use);
    // A store that hangs does not block an abandoned call.
    const refusal = await abortable(recording, signal);
    if (refusal !== undefined) return refusal;
  } catch (error) {
    return signal?.aborted ? { reason: "abandoned" } : { reason: "not_recorded", error };
  }
  if (signal?.aborted) return { reason: "abandoned" };
  // The recording can be slow, so check the clock again.
  return mayStart() ? undefined : { reason: "lapsed" };
}

async function consumeAtProvider(use: Use): Promise<UseRefusal | undefined> {
  const { provider, requestId, signal } = use;
  if (provider.consume === undefined) {
    const message = "The provider cannot record the use of approvals. Pass a store.";
    return { reason: "not_recorded", error: new SdkError("unsupported", message) };
  }
  try {
    // A new key for each start, so that a second start with the call's own key is refused.
    await provider.consume(requestId, { idempotencyKey: crypto.randomUUID(), signal });
    return undefined;
  } catch (error) {
    const code = error instanceof SdkError ? (error.providerCode ?? "") : "";
    const reason = Object.hasOwn(REFUSALS, code) ? REFUSALS[code] : undefined;
    if (reason === undefined) throw error;
    return { reason };
  }
}

/**
 * Consumes both the key and the request id. The call does not run twice, even if the provider
 * creates two requests for one key, or returns one request for two keys.
 */
async function consumeInStore(use: Use): Promise<UseRefusal | undefined> {
  const { provider, store, idempotencyKey, requestId, createdAt, leadMs, expiresAt, now } = use;
  if (expiresAt - now() > VALIDITY_MS_MAX) return notRecorded(TOO_LONG);
  const isOlder = store?.recordsSince !== undefined && createdAt - leadMs < store.recordsSince;
  if (isOlder) return notRecorded(BEFORE_STORE);
  for (const id of [
    recordOf(provider.url, idempotencyKey),
    `request ${provider.url} ${requestId}`,
  ]) {
    // Only the value `true` is a success.
    if ((await store?.consume(id)) !== true) return { reason: "already_used" };
  }
  return undefined;
}

function notRecorded(message: string): UseRefusal {
  return { reason: "not_recorded", error: new SdkError("unsupported", message) };
}

/** True if an expired approval was used. Then the call is not `lapsed`. */
async function wasUsed({ provider, store, idempotencyKey, signal }: Use): Promise<boolean> {
  try {
    const asking = store?.has?.(recordOf(provider.url, idempotencyKey));
    return (await abortable(Promise.resolve(asking), signal)) === true;
  } catch {
    return false;
  }
}
