/**
 * Proposed changes of the groups and owner of an instance: columns of the table `instance`. One
 * instance has at most one.
 */

import type { Actor } from "../../../core/actor.ts";
import type { StoredInstance } from "../../../core/instance.ts";
import type { Reader, Row, Transaction } from "../../store.ts";
import type { InstanceKey } from "../keys.ts";
import { parseNames, writeNames } from "../names.ts";

/** Which groups an instance is in, and who owns it. */
export type Assignment = Pick<StoredInstance, "groups" | "ownerId">;

export interface ProposedAssignment extends Assignment {
  readonly proposedBy: Actor;
  /** Epoch ms. */
  readonly proposedAt: number;
}

const COLUMNS = "id, proposed_group_names, proposed_owner_id, proposed_by, proposed_at";

/** Replaces the proposal of the instance; null removes it. */
export async function writeProposedAssignment(
  tx: Transaction,
  { projectId, instanceId }: InstanceKey,
  proposal: ProposedAssignment | null,
): Promise<void> {
  await tx.run(
    `update instance set proposed_group_names = $3, proposed_owner_id = $4, proposed_by = $5,
       proposed_at = $6
     where project_id = $1 and id = $2`,
    [
      projectId,
      instanceId,
      proposal === null ? null : writeNames(proposal.groups),
      proposal?.ownerId ?? null,
      proposal?.proposedBy ?? null,
      proposal?.proposedAt ?? null,
    ],
  );
}

/** @returns by the id of the instance; instances without a proposal are absent */
export async function readProposedAssignments(
  reader: Reader,
  projectId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ProposedAssignment>> {
  if (ids.length === 0) return new Map();
  const params = ids.map((_, i) => `$${i + 2}`).join(", ");
  const sql = `select ${COLUMNS} from instance
    where project_id = $1 and id in (${params}) and proposed_at is not null`;
  const rows = await reader.getMany(sql, [projectId, ...ids]);
  return new Map(rows.map((row) => [String(row.id), fromRow(row)]));
}

function fromRow(row: Row): ProposedAssignment {
  return {
    groups: parseNames(row.proposed_group_names),
    ownerId: row.proposed_owner_id as string | null,
    proposedBy: row.proposed_by as Actor,
    proposedAt: Number(row.proposed_at),
  };
}
