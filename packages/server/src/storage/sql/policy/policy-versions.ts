/**
 * Rows of the table `policy_version`: every policy that was ever active, never changed. The
 * highest number of a project is active; that of the project `SERVER` is the baseline.
 */

import { hash } from "node:crypto";
import type { Actor } from "../../../core/actor.ts";
import type { Reader, Row, Transaction } from "../../store.ts";
import { touchActiveState } from "../active-state-stamp.ts";
import { SERVER } from "../keys.ts";

export interface StoredPolicyVersion extends PolicyVersionOutline {
  readonly source: string;
  /** Whether `sha256` is the digest of `source`; if not, neither is what was published. */
  readonly isIntact: boolean;
}

export interface PolicyVersionOutline {
  readonly projectId: string;
  /** From 1. */
  readonly number: number;
  /** Of the source, in hex. */
  readonly sha256: string;
  /** Why it was published. */
  readonly note: string | null;
  /** Epoch ms. */
  readonly publishedAt: number;
  readonly publishedBy: Actor;
  /** Its author, where another person published it; null when it was not proposed. */
  readonly proposedBy: Actor | null;
  /** Whether another person than its author must publish what comes after it. */
  readonly isTwoPerson: boolean;
}

const OUTLINE = `project_id, number, sha256, note, published_at, published_by, proposed_by,
  is_two_person`;

/** @returns false when there is a version of this number already */
export async function insertPolicyVersion(
  tx: Transaction,
  version: Omit<StoredPolicyVersion, "isIntact">,
): Promise<boolean> {
  const inserted = await tx.run(
    `insert into policy_version
       (project_id, number, sha256, source, note, published_at, published_by, proposed_by,
        is_two_person)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (project_id, number) do nothing`,
    [
      version.projectId,
      version.number,
      version.sha256,
      version.source,
      version.note,
      version.publishedAt,
      version.publishedBy,
      version.proposedBy,
      version.isTwoPerson ? 1 : 0,
    ],
  );
  if (inserted === 1) await touchActiveState(tx, version.projectId);
  return inserted === 1;
}

/** The number active; 0 where nothing was published. */
export async function readPolicyNumber(reader: Reader, projectId: string): Promise<number> {
  const sql = `select number from policy_version where project_id = $1
    order by number desc limit 1`;
  return Number((await reader.get(sql, [projectId]))?.number ?? 0);
}

/**
 * Whether a user other than the author must publish the next version. The active version of the
 * project requires it, or the baseline policy, which does so for itself and for every project.
 */
export async function readTwoPerson(reader: Reader, projectId: string): Promise<boolean> {
  const sql = `select is_two_person from policy_version where project_id = $1
    order by number desc limit 1`;
  const own = await reader.get(sql, [projectId]);
  const floor = await reader.get(sql, [SERVER]);
  return Number(own?.is_two_person ?? 0) === 1 || Number(floor?.is_two_person ?? 0) === 1;
}

/** A version whose text does not match its digest is reported. */
export async function readPolicyVersion(
  reader: Reader,
  projectId: string,
  number: number,
): Promise<StoredPolicyVersion | undefined> {
  const sql = `select ${OUTLINE}, source from policy_version where project_id = $1 and number = $2`;
  const row = await reader.get(sql, [projectId, number]);
  if (row === undefined) return undefined;
  const version = { ...toOutline(row), source: row.source as string };
  const isIntact = hash("sha256", version.source, "hex") === version.sha256;
  if (!isIntact) reader.integrity.report({ table: "policy_version", projectId, id: `${number}` });
  return { ...version, isIntact };
}

/** @returns undefined where none is published */
export async function readActivePolicyVersion(
  reader: Reader,
  projectId: string,
): Promise<PolicyVersionOutline | undefined> {
  const sql = `select ${OUTLINE} from policy_version where project_id = $1
    order by number desc limit 1`;
  const row = await reader.get(sql, [projectId]);
  return row && toOutline(row);
}

/** Versions below a number, the newest first. */
export async function listPolicyVersions(
  reader: Reader,
  projectId: string,
  below: number,
  limit: number,
): Promise<PolicyVersionOutline[]> {
  const rows = await reader.all(
    `select ${OUTLINE} from policy_version where project_id = $1 and number < $2
     order by number desc limit $3`,
    [projectId, below, limit],
  );
  return rows.map(toOutline);
}

function toOutline(row: Row): PolicyVersionOutline {
  return {
    projectId: row.project_id as string,
    number: Number(row.number),
    sha256: row.sha256 as string,
    note: row.note as string | null,
    publishedAt: Number(row.published_at),
    publishedBy: row.published_by as Actor,
    proposedBy: row.proposed_by as Actor | null,
    isTwoPerson: Number(row.is_two_person) === 1,
  };
}
