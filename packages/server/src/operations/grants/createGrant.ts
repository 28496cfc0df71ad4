import { Problem, uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { sha256Hex } from "../../core/digest.ts";
import type { StoredGrant } from "../../core/grant.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type InputKey, inputKey, readUsedKey, storeUsedKey } from "../../steps/access/inputKey.ts";
import {
  type CompleteTerms,
  completeTerms,
  type TermsOrder,
} from "../../steps/grants/completeTerms.ts";
import { type ReviewedGrant, reviewGrant } from "../../steps/grants/reviewGrants.ts";
import { GRANTS_PER_INSTANCE_MAX } from "../../steps/grants/useGrant.ts";
import { insertGrant, readActiveGrants, readGrant } from "../../storage/sql/grants/grants.ts";
import { lockInstance } from "../../storage/sql/instances/instances.ts";
import type { Transaction } from "../../storage/store.ts";

export interface GrantOrder extends TermsOrder {
  readonly callsMax: number;
  readonly lastsMs: number;
}

export interface CreatedGrant extends ReviewedGrant {
  /** False when the key was used before. The answer is the current state of that grant. */
  readonly isNew: boolean;
}

/**
 * Creates a grant for calls of an instance. It applies the reviewer's permissions at the time of
 * each call, and decides no pending request.
 *
 * @param idempotencyKey of this reviewer; undefined: every call creates a grant
 * @throws Problem `forbidden`; `not_found` for a request or an instance outside the project;
 * `invalid_request` naming the field; `idempotency_conflict` when the key was used with other input
 */
export async function createGrant(
  context: Context,
  caller: ReviewerCaller,
  order: GrantOrder,
  idempotencyKey?: string,
): Promise<CreatedGrant> {
  assertMay(caller, "decide");
  const { projectId } = caller;
  const use = { kind: "grant", input: order } as const;
  const key = inputKey(context, caller, use, idempotencyKey);
  const { grant, isNew } = await context.store.transact(async (tx) => {
    const known = key && (await readKnown(tx, key));
    if (known !== undefined) return { grant: known, isNew: false };
    const { instanceId, terms } = await completeTerms(tx, context.settings, projectId, order);
    // Excludes all other transactions, so that none creates a grant during the count.
    const instance = await lockInstance(tx, "update", { projectId, instanceId });
    if (instance === undefined || instance.deletedAt !== null) throw new Problem("not_found");
    const now = await tx.now();
    const made = newGrant(context, caller, order, { instanceId, terms }, now);
    if (key && !(await storeUsedKey(tx, key, made))) {
      // A concurrent exchange with the same key has committed.
      const winner = await readKnown(tx, key);
      if (winner === undefined) throw new Error("a used key has no grant");
      return { grant: winner, isNew: false };
    }
    await assertRoom(tx, { projectId, instanceId }, now);
    await insertGrant(tx, made);
    await record(tx, context, made);
    return { grant: made, isNew: true };
  });
  return { ...(await reviewGrant(context.store, grant)), isNew };
}

async function readKnown(tx: Transaction, key: InputKey): Promise<StoredGrant | undefined> {
  const id = await readUsedKey(tx, key);
  return id === undefined ? undefined : readGrant(tx, { projectId: key.projectId, id });
}

async function assertRoom(
  tx: Transaction,
  instance: Parameters<typeof readActiveGrants>[1],
  now: number,
): Promise<void> {
  const active = await readActiveGrants(tx, instance, now, GRANTS_PER_INSTANCE_MAX);
  if (active.length < GRANTS_PER_INSTANCE_MAX) return;
  const count = `The instance has ${GRANTS_PER_INSTANCE_MAX} active grants`;
  const message = `${count}, which is the maximum. Revoke one first.`;
  throw new Problem("invalid_request", message, { param: "instance_id" });
}

function newGrant(
  { random }: Context,
  { projectId, reviewerId }: ReviewerCaller,
  { callsMax, lastsMs }: GrantOrder,
  { instanceId, terms }: CompleteTerms,
  now: number,
): StoredGrant {
  return {
    id: uuidV7(now, random.bytes(10)),
    projectId,
    instanceId,
    reviewerId,
    terms,
    createdAt: now,
    expiresAt: now + lastsMs,
    callsMax,
    calls: 0,
    revokedAt: null,
    revokedBy: null,
  };
}

async function record(tx: Transaction, { random }: Context, grant: StoredGrant): Promise<void> {
  await appendAudit(tx, random, {
    at: grant.createdAt,
    projectId: grant.projectId,
    kind: "grant.made",
    actor: `reviewer:${grant.reviewerId}`,
    subject: `grant:${grant.id}`,
    detail: {
      instance_id: grant.instanceId,
      terms_sha256: sha256Hex(JSON.stringify(grant.terms)),
      calls_max: grant.callsMax,
      expires_at: grant.expiresAt,
    },
  });
}
