/**
 * Rows of the table `audit_log`: how far the log of each project, and that of the server, is
 * sealed. A sealing transaction locks the row.
 */

import type { Hash } from "../../../core/merkle.ts";
import type { Reader, Row, Transaction } from "../../store.ts";

export interface StoredLog {
  readonly projectId: string;
  readonly origin: string;
  /** Ed25519, 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly encryptedPrivateKey: string;
  readonly size: number;
  readonly subtrees: readonly Hash[];
  /** The search for new entries starts a little before this id; empty at first. */
  readonly sealedId: string;
  /** Signed note. */
  readonly checkpoint: string;
  readonly sealedAt: number;
  /** The cut: entries before this position are only in an archive. */
  readonly pruned: number;
  /** Id of the entry `audit.pruned` that allows the cut; empty: none. */
  readonly prunedBy: string;
}

/** A full scan of a log that is under way. */
export interface FullScan {
  /** The id up to which it has come. */
  readonly after: string;
}

const LOG = `project_id, origin, public_key, encrypted_private_key, size, frontier, sealed_id,
  checkpoint, sealed_at, pruned, pruned_by`;

const BY_PROJECT = `select ${LOG} from audit_log where project_id = $1`;

export async function readLog(reader: Reader, projectId: string): Promise<StoredLog | undefined> {
  return toLog(await reader.get(BY_PROJECT, [projectId]));
}

export async function lockLog(tx: Transaction, projectId: string): Promise<StoredLog | undefined> {
  return toLog(await tx.lock("update", BY_PROJECT, [projectId]));
}

/** All of them, by their projects. */
export async function readLogs(reader: Reader): Promise<StoredLog[]> {
  const rows = await reader.all(`select ${LOG} from audit_log order by project_id`);
  return rows.flatMap((row) => toLog(row) ?? []);
}

/** @returns false when another transaction was first */
export async function insertLog(tx: Transaction, log: StoredLog): Promise<boolean> {
  const inserted = await tx.run(
    `insert into audit_log (project_id, origin, public_key, encrypted_private_key, size, frontier,
       sealed_id, checkpoint, sealed_at, rescan_started_at, rescanned_at, full_scan_at,
       full_scan_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $9, $9, '')
     on conflict (project_id) do nothing`,
    [
      log.projectId,
      log.origin,
      Buffer.from(log.publicKey).toString("base64"),
      log.encryptedPrivateKey,
      ...progressOf(log),
    ],
  );
  return inserted === 1;
}

/** Records how far it is sealed now. */
export async function updateLog(tx: Transaction, log: StoredLog): Promise<void> {
  await tx.run(
    `update audit_log set size = $2, frontier = $3, sealed_id = $4, checkpoint = $5, sealed_at = $6
     where project_id = $1`,
    [log.projectId, ...progressOf(log)],
  );
}

function progressOf({ size, subtrees, sealedId, checkpoint, sealedAt }: StoredLog) {
  return [size, writeHashes(subtrees), sealedId, checkpoint, sealedAt];
}

/** Projects that have no log yet; all have entries. */
export async function readProjectsWithoutLog(reader: Reader): Promise<string[]> {
  const rows = await reader.all(
    `select id from project where not exists
       (select 1 from audit_log where audit_log.project_id = project.id)`,
  );
  return rows.map(({ id }) => String(id));
}

export interface DueBounds {
  /** Entries after this one are read again, whether they are sealed or not. */
  readonly recentId: string;
  /** Epoch ms; a log that a replica sealed after this time is left to that replica. */
  readonly sealedBefore: number;
  readonly now: number;
}

/** Logs with entries that may not be sealed. Those on which another replica is at work are not. */
export async function readUnsealedLogs(
  reader: Reader,
  { recentId, sealedBefore, now }: DueBounds,
): Promise<string[]> {
  const rows = await reader.all(
    `select project_id from audit_log
     where (sealed_at <= $2 or sealed_at > $3)
       and (select id from audit_entry where audit_entry.project_id = audit_log.project_id
         order by id desc limit 1) > case when sealed_id < $1 then sealed_id else $1 end`,
    [recentId, sealedBefore, now],
  );
  return rows.map((row) => String(row.project_id));
}

export interface RescanBounds {
  /** After a rescan that started before this, another one is due. */
  readonly startedBefore: number;
  /** A rescan that started before this and has not ended is repeated: its process has died. */
  readonly lostBefore: number;
  readonly now: number;
}

const RESCAN_IS_DUE = `(rescan_started_at <= $1
  or (rescan_started_at <= $2 and rescanned_at < rescan_started_at)
  or rescan_started_at > $3)`;

/** Logs that are due for a rescan for late entries; also those of a clock that was set back. */
export async function readLogsDueForRescan(
  reader: Reader,
  { startedBefore, lostBefore, now }: RescanBounds,
): Promise<string[]> {
  const sql = `select project_id from audit_log where ${RESCAN_IS_DUE}`;
  const rows = await reader.all(sql, [startedBefore, lostBefore, now]);
  return rows.map((row) => String(row.project_id));
}

/**
 * @returns when the last rescan that ended had started, epoch ms; undefined when another replica
 *   has claimed this one
 */
export async function claimRescan(
  tx: Transaction,
  projectId: string,
  { startedBefore, lostBefore, now }: RescanBounds,
): Promise<number | undefined> {
  const [row] = await tx.runReturning(
    `update audit_log set rescan_started_at = $3 where project_id = $4 and ${RESCAN_IS_DUE}
     returning rescanned_at`,
    [startedBefore, lostBefore, now, projectId],
  );
  return row === undefined ? undefined : Number(row.rescanned_at);
}

/** Records that a rescan ended, unless another replica is repeating it. */
export async function endRescan(
  tx: Transaction,
  projectId: string,
  startedAt: number,
): Promise<void> {
  const sql =
    "update audit_log set rescanned_at = $2 where project_id = $1 and rescan_started_at = $2";
  await tx.run(sql, [projectId, startedAt]);
}

export interface FullScanBounds {
  /** After a full scan that ended before this, another one is due. */
  readonly endedBefore: number;
  /** A full scan without progress since then is resumed: its process has died. */
  readonly lostBefore: number;
  readonly now: number;
}

/** @returns where to start or resume; undefined when none is due or another replica runs it */
export async function claimFullScan(
  tx: Transaction,
  projectId: string,
  { endedBefore, lostBefore, now }: FullScanBounds,
): Promise<FullScan | undefined> {
  const sql = "select full_scan_at, full_scan_id from audit_log where project_id = $1";
  const row = await tx.lock("update", sql, [projectId]);
  if (row === undefined) return undefined;
  const [fullScanAt, after] = [Number(row.full_scan_at), String(row.full_scan_id)];
  const isDue = fullScanAt <= (after === "" ? endedBefore : lostBefore) || fullScanAt > now;
  if (!isDue) return undefined;
  await saveFullScan(tx, projectId, after === "" ? BEGUN : after, now);
  return { after };
}

/** Sorts before every id, and marks a full scan as running. */
const BEGUN = "0";

/** @param after the last scanned id; empty when the scan has finished */
export async function saveFullScan(
  tx: Transaction,
  projectId: string,
  after: string,
  now: number,
): Promise<void> {
  await tx.run("update audit_log set full_scan_at = $2, full_scan_id = $3 where project_id = $1", [
    projectId,
    now,
    after,
  ]);
}

const HASH_BYTES = 32;

/** Of base64url for each. */
const HASH_CHARS = 43;

export function writeHashes(hashes: readonly Hash[]): string {
  return hashes.map((hash) => Buffer.from(hash).toString("base64url")).join("");
}

/** A malformed hash becomes zeros, which match no content. */
export function readHashes(text: string): Hash[] {
  const hashes: Hash[] = [];
  for (let at = 0; at < text.length; at += HASH_CHARS) {
    const hash = Buffer.from(text.slice(at, at + HASH_CHARS), "base64url");
    hashes.push(hash.length === HASH_BYTES ? hash : Buffer.alloc(HASH_BYTES));
  }
  return hashes;
}

function toLog(row: Row | undefined): StoredLog | undefined {
  if (row === undefined) return undefined;
  return {
    projectId: row.project_id as string,
    origin: row.origin as string,
    publicKey: Buffer.from(row.public_key as string, "base64"),
    encryptedPrivateKey: row.encrypted_private_key as string,
    size: Number(row.size),
    subtrees: readHashes(row.frontier as string),
    sealedId: row.sealed_id as string,
    checkpoint: row.checkpoint as string,
    sealedAt: Number(row.sealed_at),
    pruned: Number(row.pruned),
    prunedBy: row.pruned_by as string,
  };
}
