/**
 * Provisioning and update with a receiver: reserve, verify outside of any transaction, commit.
 *
 * Concurrent exchanges with the same key share one attempt: a second exchange waits for the first,
 * on any replica, and returns its result. The owner has a lease and a fence. After a crash, a
 * waiting exchange takes over. A slow owner then fails its fence check and joins.
 *
 * @see contract: Endpoints, POST /v1/instances and PATCH /v1/instances/{id}; Events,
 *   webhook.verification
 */

import { Problem, type ProblemCode, type WebhookDeliveryInput } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { Verification } from "../../delivery/delivery.ts";
import { Failure } from "../../failure.ts";
import type { ProvisionerCaller } from "../../identity/caller.ts";
import {
  deleteVerification,
  failVerification,
  insertVerification,
  lockVerification,
  readVerification,
  type StoredVerification,
  takeOverVerification,
  type VerificationFailure,
} from "../../storage/sql/instances/verifications.ts";
import type { ScopedKey } from "../../storage/sql/keys.ts";
import type { Transaction } from "../../storage/store.ts";

/** The scope of an Idempotency-Key, and the hash of its input. */
export interface KeyedInput extends ScopedKey {
  readonly fingerprint: string;
  /** True when it changes the name of an instance. */
  readonly renames: boolean;
}

/** The reservation. Of concurrent updates, the last accepted one wins. */
export type AcceptedVerification = Pick<StoredVerification, "instanceId" | "acceptedAt">;

export interface CommitSteps<T> {
  /** The earlier result of this key, if any. */
  replay(tx: Transaction): Promise<T | undefined>;

  /** @returns id of the instance, which may not exist yet */
  reserve(tx: Transaction): Promise<string>;

  /** @returns undefined when another attempt has committed with this key */
  commit(tx: Transaction, accepted: AcceptedVerification): Promise<T | undefined>;
}

/** Three seconds in the queue, ten for the verification (delivery/), and time to commit. */
const LEASE_MS = 15_000;

/** Maximum wait of a joined exchange: one lost lease, and the next attempt. */
export const JOINED_MS_MAX = 30_000;

const POLL_MS = 200;

const RETRY_AFTER_S = 5;

/** `Retry-After` for a Failure, also for joined exchanges. */
const FAILURE_RETRY_AFTER_S = 1;

type Attempt<T> =
  | { readonly kind: "replayed"; readonly value: T }
  | { readonly kind: "owned" | "joined"; readonly verification: StoredVerification };

/**
 * @throws Problem `webhook_verification_failed`, `invalid_webhook_url`, `rate_limited`,
 * `idempotency_conflict`, `update_superseded`, `unavailable` when the joined attempt does not end,
 * and problems of the steps
 */
export async function commitVerified<T>(
  context: Context,
  caller: ProvisionerCaller,
  key: KeyedInput,
  delivery: WebhookDeliveryInput,
  steps: CommitSteps<T>,
): Promise<T> {
  const giveUpAt = context.clock.now() + JOINED_MS_MAX;
  let fence = 0;
  do {
    const attempt = await context.store.transact((tx) => startOrJoin(tx, key, steps, fence));
    if (attempt.kind === "replayed") return attempt.value;
    const { verification } = attempt;
    fence = verification.fence;
    if (attempt.kind === "joined") {
      const failure = await untilEnded(context, verification, giveUpAt);
      if (failure !== null) throw toProblem(failure);
      continue;
    }
    const value = await verifyAndCommit(context, caller, verification, delivery, steps);
    if (value !== undefined) return value;
  } while (context.clock.now() < giveUpAt);
  throw new Problem("unavailable", undefined, { retryAfterS: RETRY_AFTER_S });
}

/**
 * For input without a receiver, which differs from the input of any verification.
 *
 * @throws Problem `idempotency_conflict` when a verification with this key is running or has failed
 */
export async function assertNeverVerified(tx: Transaction, key: ScopedKey): Promise<void> {
  if ((await lockVerification(tx, key)) !== undefined) throw new Problem("idempotency_conflict");
}

/** @param lastFence of the attempt that this call owned or joined before; 0: none */
async function startOrJoin<T>(
  tx: Transaction,
  key: KeyedInput,
  steps: CommitSteps<T>,
  lastFence: number,
): Promise<Attempt<T>> {
  const value = await steps.replay(tx);
  if (value !== undefined) return { kind: "replayed", value };
  const instanceId = await steps.reserve(tx);
  const now = await tx.now();
  const leaseUntil = now + LEASE_MS;
  const fresh = { ...key, instanceId, acceptedAt: now, fence: 1, leaseUntil, failure: null };
  if (await insertVerification(tx, fresh, now)) {
    // The insert waits for a concurrent commit, which may have produced the result.
    const late = await steps.replay(tx);
    if (late === undefined) return { kind: "owned", verification: fresh };
    await deleteVerification(tx, fresh);
    return { kind: "replayed", value: late };
  }
  const existing = await lockVerification(tx, key);
  // Committed between the two statements, so no wait is needed.
  if (existing === undefined) return { kind: "joined", verification: fresh };
  if (existing.fingerprint !== key.fingerprint) throw new Problem("idempotency_conflict");
  if (isUnderWay(existing, now)) return { kind: "joined", verification: existing };
  const { failure } = existing;
  // Another attempt would overwrite the later update.
  if (failure?.code === "update_superseded") throw toProblem(failure);
  // It took over from this call and has failed. Both return this failure.
  const isSuccessor = lastFence > 0 && existing.fence > lastFence;
  if (isSuccessor && failure !== null) return { kind: "joined", verification: existing };
  const verification = {
    ...fresh,
    fence: existing.fence + 1,
    // A takeover after a crash keeps the position in the order.
    acceptedAt: failure === null ? existing.acceptedAt : now,
  };
  await takeOverVerification(tx, verification, now);
  return { kind: "owned", verification };
}

function isUnderWay({ failure, leaseUntil }: StoredVerification, now: number): boolean {
  return failure === null && leaseUntil > now;
}

/** @returns undefined when the attempt was taken over or superseded */
async function verifyAndCommit<T>(
  context: Context,
  { provisionerId }: ProvisionerCaller,
  verification: StoredVerification,
  delivery: WebhookDeliveryInput,
  steps: CommitSteps<T>,
): Promise<T | undefined> {
  const { scope, keyHash, instanceId } = verification;
  const signal = () => context.wake.signal({ kind: "verified", scope, keyHash });
  try {
    const verified = await context.delivery.verify({ provisionerId, instanceId, delivery });
    if (verified.kind !== "verified") throw refusal(verified);
    return await context.store.transact((tx) => {
      tx.onCommit(signal);
      return finish(tx, verification, steps);
    });
  } catch (error) {
    const failure = toFailure(error);
    const isOurs = await context.store.transact(async (tx) => {
      tx.onCommit(signal);
      return failVerification(tx, verification, failure, await tx.now());
    });
    if (isOurs || !(error instanceof Problem)) throw error;
    return undefined;
  }
}

/** @returns undefined when the attempt was superseded, or taken over without a result yet */
async function finish<T>(
  tx: Transaction,
  verification: StoredVerification,
  steps: CommitSteps<T>,
): Promise<T | undefined> {
  const { fence } = verification;
  // First, as in `startOrJoin`, because both must lock in the same order.
  const value = await steps.replay(tx);
  if (value !== undefined) return value;
  const current = await lockVerification(tx, verification);
  if (current?.fence !== fence || current.failure !== null) return undefined;
  const committed = await steps.commit(tx, verification);
  await deleteVerification(tx, verification);
  return committed;
}

function refusal(verified: Exclude<Verification, { readonly kind: "verified" }>): Problem {
  switch (verified.kind) {
    case "failed":
      return toProblem({ code: "webhook_verification_failed", retryAfterS: null });
    case "unsafe":
      return toProblem({ code: "invalid_webhook_url", retryAfterS: null });
    case "limited":
      return toProblem({ code: "rate_limited", retryAfterS: verified.retryAfterS });
  }
}

/** The stored failure of an attempt, which all joined exchanges return. */
function toFailure(error: unknown): VerificationFailure {
  if (error instanceof Problem) return { code: error.code, retryAfterS: error.retryAfterS ?? null };
  if (!(error instanceof Failure)) return { code: "internal", retryAfterS: null };
  return { code: "unavailable", retryAfterS: FAILURE_RETRY_AFTER_S };
}

function toProblem({ code, retryAfterS }: VerificationFailure): Problem {
  return new Problem(code, undefined, {
    param: PARAMS[code],
    retryAfterS: retryAfterS ?? undefined,
  });
}

/** The invalid parameter of each code. */
const PARAMS: Readonly<Partial<Record<ProblemCode, string>>> = {
  webhook_verification_failed: "delivery",
  invalid_webhook_url: "delivery.url",
};

/**
 * Waits until an attempt has committed, failed, been taken over or lost its lease.
 *
 * @returns the failure; null when another attempt is possible
 */
async function untilEnded(
  { store, clock, wake }: Context,
  joined: StoredVerification,
  giveUpAt: number,
): Promise<VerificationFailure | null> {
  const { scope, keyHash, fence } = joined;
  for (;;) {
    let proceed = () => {};
    const signalled = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    // Before the read, so that an end in between is not missed.
    const unsubscribe = wake.onSignal((signal) => {
      if (signal.kind === "verified" && signal.scope === scope && signal.keyHash === keyHash)
        proceed();
    });
    const cancel = clock.after(POLL_MS, proceed);
    try {
      const current = await readVerification(store, joined);
      if (current?.fence !== fence) return null;
      if (current.failure !== null) return current.failure;
      const now = clock.now();
      if (current.leaseUntil <= now || now >= giveUpAt) return null;
      await signalled;
    } finally {
      unsubscribe();
      cancel();
    }
  }
}
