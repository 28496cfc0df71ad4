import { JsonObject, parseJson } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { StoredRequest } from "../../core/request.ts";
import { sessionOf, turnOf } from "../../policy/grant-terms.ts";
import { lockGrant, readActiveGrants } from "../../storage/sql/grants/grants.ts";
import type { Transaction } from "../../storage/store.ts";
import { revokeLocked } from "./revokeLocked.ts";
import { GRANTS_PER_INSTANCE_MAX } from "./useGrant.ts";

/**
 * Revokes the grants that a reviewer created for the turn of this request. A reviewer who approves
 * the rest of a response, and then takes the approval back, wants neither.
 *
 * @param since epoch ms; earlier grants stay active
 */
export async function revokeGrantsOfTurn(
  tx: Transaction,
  context: Pick<Context, "random">,
  request: StoredRequest,
  reviewerId: string,
  since: number,
): Promise<void> {
  const turn = turnIn(request);
  if (turn === undefined) return;
  const { projectId, instanceId } = request;
  const key = { projectId, instanceId };
  const active = await readActiveGrants(tx, key, await tx.now(), GRANTS_PER_INSTANCE_MAX);
  for (const { id, terms, reviewerId: creatorId, createdAt } of active) {
    if (creatorId !== reviewerId || createdAt < since) continue;
    if (terms.session !== turn.session || terms.turn !== turn.turn) continue;
    const grant = await lockGrant(tx, { projectId, id });
    if (grant !== undefined) await revokeLocked(tx, context, grant, reviewerId);
  }
}

interface Turn {
  readonly session: string;
  readonly turn: string;
}

function turnIn({ context: text }: StoredRequest): Turn | undefined {
  const context = text === null ? undefined : parseJson(text);
  if (!(context instanceof JsonObject)) return undefined;
  const session = sessionOf({ context });
  const turn = turnOf({ context });
  return session === undefined || turn === undefined ? undefined : { session, turn };
}
