import { type OutcomeInput, Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { report, type StoredOutcome } from "../../core/consumption.ts";
import { sha256Hex } from "../../core/digest.ts";
import type { StoredRequest } from "../../core/request.ts";
import type { InstanceCaller } from "../../identity/caller.ts";
import { readConsumption, updateOutcome } from "../../storage/sql/requests/consumptions.ts";
import { lockRequestOfInstance } from "../../storage/sql/requests/requests.ts";
import type { Transaction } from "../../storage/store.ts";
import type { ConsumedRequest } from "./consumeApproval.ts";

/**
 * Records the outcome of a call as reported by its agent. It is unverified and displayed as such.
 * Repeating it changes nothing.
 *
 * @throws Problem `not_found`, also for requests of other instances; `not_consumed`;
 * `outcome_conflict` after another report
 * @see docs/reference/extensions.md
 */
export async function reportOutcome(
  context: Context,
  caller: InstanceCaller,
  id: string,
  input: OutcomeInput,
): Promise<ConsumedRequest> {
  const claim = {
    status: input.status,
    note: input.note === undefined ? null : JSON.stringify(input.note),
  };
  return context.store.transact(async (tx) => {
    const request = await lockRequestOfInstance(tx, caller, id);
    if (request === undefined) throw new Problem("not_found");
    const consumption = await readConsumption(tx, request);
    const reporting = report(consumption, claim, await tx.now());
    if (reporting.kind === "refused") throw new Problem(reporting.code);
    if (consumption === undefined) throw new Error("an outcome was accepted without a consumption");
    if (reporting.kind === "replayed") return { request, consumption };
    const { outcome } = reporting;
    await record(tx, context, request, outcome);
    return { request, consumption: { ...consumption, outcome } };
  });
}

async function record(
  tx: Transaction,
  { random }: Context,
  request: StoredRequest,
  outcome: StoredOutcome,
): Promise<void> {
  await updateOutcome(tx, request, outcome);
  await appendAudit(tx, random, {
    at: outcome.reportedAt,
    projectId: request.projectId,
    kind: "outcome.reported",
    actor: `instance:${request.instanceId}`,
    subject: `request:${request.id}`,
    detail: {
      status: outcome.status,
      note_sha256: outcome.note === null ? null : sha256Hex(outcome.note),
    },
  });
}
