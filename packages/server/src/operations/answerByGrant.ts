import type { Context } from "../context.ts";
import type { StoredInstance } from "../core/instance.ts";
import type { Ending } from "../core/request.ts";
import { type Judgement, requirementOf } from "../policy/judgement.ts";
import type { Call } from "../policy/rule.ts";
import type { Transaction } from "../storage/store.ts";
import { useGrant } from "./useGrant.ts";

/** A call about which people are asked, as policy judged it. */
export interface JudgedCall {
  readonly instance: StoredInstance;
  readonly call: Call;
  readonly judgement: Judgement;
  /** Epoch ms. */
  readonly now: number;
}

export interface Granted {
  readonly grantId: string;
  readonly ending: Ending;
}

/**
 * Asks the grants of an instance in place of people. Where policy met an error or a number that
 * it cannot hold exactly, people are asked.
 *
 * Called by: createApprovalRequest.
 *
 * @returns how the grant that answers ends the request; its call is counted
 */
export async function answerByGrant(
  tx: Transaction,
  { settings }: Pick<Context, "settings">,
  { instance, call, judgement, now }: JudgedCall,
): Promise<Granted | undefined> {
  const { because, errors, validityMs: validityMsMax = Number.POSITIVE_INFINITY } = judgement;
  const isCertain = errors.length === 0 && because !== "error" && because !== "inexact";
  const requirement = requirementOf(judgement);
  const used = await useGrant(tx, { instance, call, requirement, isCertain, now });
  if (used === undefined) return undefined;
  const { id: grantId, note, validityMs = settings.validityMsDefault } = used;
  const ending: Ending = {
    status: "approved",
    by: `grant:${grantId}`,
    note: note === null ? null : JSON.stringify(note),
    validityMs: Math.max(settings.validityMsMin, Math.min(validityMs, validityMsMax)),
  };
  return { grantId, ending };
}
