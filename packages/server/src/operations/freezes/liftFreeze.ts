import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { Actor } from "../../core/actor.ts";
import { scopeOf } from "../../core/freeze.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type ReviewedFreeze, reviewFreeze } from "../../steps/freezes/reviewFreezes.ts";
import { lockFreeze, markLifted } from "../../storage/sql/freezes/freezes.ts";

/**
 * Lifts a freeze. New requests are judged as before the freeze; denied requests stay denied.
 * Repeating it changes nothing.
 *
 * @throws Problem `forbidden`; `not_found` outside the reviewer's project and the server
 */
export async function liftFreeze(
  context: Context,
  caller: ReviewerCaller,
  id: string,
): Promise<ReviewedFreeze> {
  assertMay(caller, "freeze");
  const lifted = await context.store.transact(async (tx) => {
    const freeze = await lockFreeze(tx, caller.projectId, id);
    if (freeze === undefined) throw new Problem("not_found");
    if (scopeOf(freeze) === "server") assertMay(caller, "server");
    tx.onCommit(() => context.wake.signal({ kind: "frozen", projectId: freeze.projectId }));
    if (freeze.liftedAt !== null) return freeze;
    const liftedAt = await tx.now();
    const liftedBy: Actor = `reviewer:${caller.reviewerId}`;
    await markLifted(tx, freeze, liftedAt, liftedBy);
    await appendAudit(tx, context.random, {
      at: liftedAt,
      projectId: freeze.projectId,
      kind: "freeze.lifted",
      actor: liftedBy,
      subject: `freeze:${id}`,
    });
    return { ...freeze, liftedAt, liftedBy };
  });
  return reviewFreeze(context.store, caller.projectId, lifted);
}
