/**
 * Rows of the table `policy_proposal`: policies that wait for another person to publish them.
 * Nothing of one changes but that it is closed, once.
 */

import { hash } from "node:crypto";
import type { Actor } from "../../../core/actor.ts";
import type { Reader, Row, Transaction } from "../../store.ts";
import type { RowKey } from "../keys.ts";

export interface StoredProposal extends ProposalOutline {
  readonly source: string;
  /** Whether `sha256` is the digest of `source`; if not, neither is what was proposed. */
  readonly isIntact: boolean;
}

export interface ProposalOutline extends RowKey {
  /** Of the version that it began from; 0 when there was none. */
  readonly baseNumber: number;
  /** Of the source, in hex. */
  readonly sha256: string;
  readonly note: string | null;
  /** The older version that this is the source of. */
  readonly restores: number | null;
  /** How many it brings; all passed when it was proposed. */
  readonly tests: number;
  /** Epoch ms. */
  readonly proposedAt: number;
  readonly proposedBy: Actor;
  /** Of which the proposer is a reviewer; of the floor's it is not `projectId`. */
  readonly proposerProjectId: string;
  /** Null while it is open. */
  readonly end: ProposalEnd | null;
}

export interface ProposalEnd {
  readonly outcome: "published" | "rejected";
  /** Epoch ms. */
  readonly closedAt: number;
  readonly closedBy: Actor;
  /** Why it was rejected. */
  readonly reason: string | null;
}

const OUTLINE = `project_id, id, base_number, sha256, note, restores, tests, proposed_at,
  proposed_by, proposer_project_id, outcome, closed_at, closed_by, reason`;

export async function insertProposal(
  tx: Transaction,
  proposal: Omit<StoredProposal, "isIntact">,
): Promise<void> {
  await tx.insert(
    `insert into policy_proposal (project_id, id, base_number, sha256, source, note, restores,
       tests, proposed_at, proposed_by, proposer_project_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
      proposal.projectId,
      proposal.id,
      proposal.baseNumber,
      proposal.sha256,
      proposal.source,
      proposal.note,
      proposal.restores,
      proposal.tests,
      proposal.proposedAt,
      proposal.proposedBy,
      proposal.proposerProjectId,
    ],
  );
}

export async function readProposal(
  reader: Reader,
  { projectId, id }: RowKey,
): Promise<StoredProposal | undefined> {
  const sql = `select ${OUTLINE}, source from policy_proposal where project_id = $1 and id = $2`;
  return toProposal(reader, await reader.get(sql, [projectId, id]));
}

/** One that is open, has this source, and is by this author from this version. */
export async function readOpenProposal(
  reader: Reader,
  {
    projectId,
    sha256,
    baseNumber,
    proposedBy,
  }: Pick<StoredProposal, "projectId" | "sha256" | "baseNumber" | "proposedBy">,
): Promise<StoredProposal | undefined> {
  const sql = `select ${OUTLINE}, source from policy_proposal
    where project_id = $1 and closed_at is null and sha256 = $2 and base_number = $3
      and proposed_by = $4 limit 1`;
  return toProposal(reader, await reader.get(sql, [projectId, sha256, baseNumber, proposedBy]));
}

/** @returns false when it was already closed */
export async function closeProposal(
  tx: Transaction,
  { projectId, id }: RowKey,
  { outcome, closedAt, closedBy, reason }: ProposalEnd,
): Promise<boolean> {
  const sql = `update policy_proposal
    set outcome = $3, closed_at = $4, closed_by = $5, reason = $6
    where project_id = $1 and id = $2 and closed_at is null`;
  return (await tx.run(sql, [projectId, id, outcome, closedAt, closedBy, reason])) === 1;
}

/** Open ones before an id: the newest first. */
export async function listOpenProposals(
  reader: Reader,
  projectId: string,
  before: string,
  limit: number,
): Promise<ProposalOutline[]> {
  const sql = `select ${OUTLINE} from policy_proposal
    where project_id = $1 and id < $2 and closed_at is null order by id desc limit $3`;
  return (await reader.all(sql, [projectId, before, limit])).map(toOutline);
}

/** As {@link listOpenProposals}, those that were published or rejected. */
export async function listClosedProposals(
  reader: Reader,
  projectId: string,
  before: string,
  limit: number,
): Promise<ProposalOutline[]> {
  const sql = `select ${OUTLINE} from policy_proposal
    where project_id = $1 and id < $2 and closed_at is not null order by id desc limit $3`;
  return (await reader.all(sql, [projectId, before, limit])).map(toOutline);
}

/** One whose text does not match its digest is reported. */
function toProposal(reader: Reader, row: Row | undefined): StoredProposal | undefined {
  if (row === undefined) return undefined;
  const proposal = { ...toOutline(row), source: row.source as string };
  const { projectId, id } = proposal;
  const isIntact = hash("sha256", proposal.source, "hex") === proposal.sha256;
  if (!isIntact) reader.integrity.report({ table: "policy_proposal", projectId, id });
  return { ...proposal, isIntact };
}

function toOutline(row: Row): ProposalOutline {
  return {
    projectId: row.project_id as string,
    id: row.id as string,
    baseNumber: Number(row.base_number),
    sha256: row.sha256 as string,
    note: row.note as string | null,
    restores: row.restores === null ? null : Number(row.restores),
    tests: Number(row.tests),
    proposedAt: Number(row.proposed_at),
    proposedBy: row.proposed_by as Actor,
    proposerProjectId: row.proposer_project_id as string,
    end: toEnd(row),
  };
}

function toEnd(row: Row): ProposalEnd | null {
  if (row.outcome === null) return null;
  return {
    outcome: row.outcome as ProposalEnd["outcome"],
    closedAt: Number(row.closed_at),
    closedBy: row.closed_by as Actor,
    reason: row.reason as string | null,
  };
}
