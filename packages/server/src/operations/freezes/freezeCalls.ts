import { Problem, uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { sha256Hex } from "../../core/digest.ts";
import { type FreezeScope, type StoredFreeze, scopeOf } from "../../core/freeze.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import {
  awaitConcurrentCreates,
  denyFrozenRequests,
  SCAN_START,
} from "../../steps/freezes/denyFrozenRequests.ts";
import { type ReviewedFreeze, reviewFreeze } from "../../steps/freezes/reviewFreezes.ts";
import { EVERY_INSTANCE, insertFreeze, readFreezeOf } from "../../storage/sql/freezes/freezes.ts";
import { lockInstance } from "../../storage/sql/instances/instances.ts";
import { SERVER } from "../../storage/sql/keys.ts";
import type { Cursor } from "../../storage/sql/requests/requests.ts";
import type { Transaction } from "../../storage/store.ts";

export interface FreezeOrder {
  readonly scope: FreezeScope;
  /** Set exactly when the scope is an instance. */
  readonly instanceId: string | undefined;
  /** Note for the agents. */
  readonly note: string | undefined;
}

export interface FreezeResult extends ReviewedFreeze {
  /** False when a freeze already existed, which stays unchanged with its note. */
  readonly isNew: boolean;
  /** Number of pending requests that were denied before the answer. */
  readonly denied: number;
  /** True when no covered request is pending. Otherwise the worker denies the rest. */
  readonly isComplete: boolean;
}

/** Limits the exchange. The worker processes the rest. */
const REQUESTS_PER_EXCHANGE_MAX = 1_000;

/**
 * Freezes an instance, the reviewer's project or the whole server. After the commit, every new
 * request that it covers is denied, and none can be approved. It waits for concurrent creations and
 * approvals, so that nothing is approved after the answer. It denies pending requests, up to a
 * limit for one exchange.
 *
 * @throws Problem `forbidden`; `not_found` for an instance that is deleted or in another project
 */
export async function freezeCalls(
  context: Context,
  caller: ReviewerCaller,
  order: FreezeOrder,
): Promise<FreezeResult> {
  assertMay(caller, "freeze");
  if (order.scope === "server") assertMay(caller, "server");
  const { freeze, isNew } = await ensureFreeze(context, caller, order);
  await awaitConcurrentCreates(context, freeze);
  let denied = 0;
  let cursor: Cursor | undefined = SCAN_START;
  while (cursor !== undefined && denied < REQUESTS_PER_EXCHANGE_MAX) {
    const page = await denyFrozenRequests(context, freeze, cursor);
    denied += page.count;
    cursor = page.next;
  }
  const reviewed = await reviewFreeze(context.store, caller.projectId, freeze);
  return { ...reviewed, isNew, denied, isComplete: cursor === undefined };
}

async function ensureFreeze(
  context: Context,
  caller: ReviewerCaller,
  order: FreezeOrder,
): Promise<Pick<FreezeResult, "freeze" | "isNew">> {
  const cover = {
    projectId: order.scope === "server" ? SERVER : caller.projectId,
    instanceId: order.instanceId ?? EVERY_INSTANCE,
  };
  for (;;) {
    const ensured = await context.store.transact(async (tx) => {
      if (order.scope === "instance") await assertInstance(tx, cover);
      const freeze = newFreeze(context, caller, order, cover, await tx.now());
      if (await insertFreeze(tx, freeze)) {
        await record(tx, context, freeze);
        tx.onCommit(() => context.wake.signal({ kind: "frozen", projectId: freeze.projectId }));
        return { freeze, isNew: true };
      }
      const active = await readFreezeOf(tx, cover);
      return active && { freeze: active, isNew: false };
    });
    // Otherwise the freeze was lifted in between.
    if (ensured !== undefined) return ensured;
  }
}

async function assertInstance(tx: Transaction, instance: Parameters<typeof lockInstance>[2]) {
  const stored = await lockInstance(tx, "share", instance);
  if (stored === undefined || stored.deletedAt !== null) throw new Problem("not_found");
}

function newFreeze(
  { random }: Context,
  { reviewerId }: ReviewerCaller,
  { note }: FreezeOrder,
  cover: Pick<StoredFreeze, "projectId" | "instanceId">,
  now: number,
): StoredFreeze {
  return {
    id: uuidV7(now, random.bytes(10)),
    ...cover,
    note: note ?? null,
    frozenAt: now,
    frozenBy: `reviewer:${reviewerId}`,
    liftedAt: null,
    liftedBy: null,
  };
}

async function record(tx: Transaction, { random }: Context, freeze: StoredFreeze): Promise<void> {
  await appendAudit(tx, random, {
    at: freeze.frozenAt,
    projectId: freeze.projectId,
    kind: "freeze.set",
    actor: freeze.frozenBy,
    subject: `freeze:${freeze.id}`,
    detail: {
      scope: scopeOf(freeze),
      instance_id: freeze.instanceId === EVERY_INSTANCE ? null : freeze.instanceId,
      note_sha256: freeze.note === null ? null : sha256Hex(freeze.note),
    },
  });
}
