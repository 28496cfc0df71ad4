/**
 * Rows of the tables `audit_seal`, the positions of entries in a sealed log, and `audit_tile`, the
 * hashes of large subtrees.
 */

import { firstIdAt, timeOfId } from "@countersign/protocol";
import type { Hash } from "../../../core/merkle.ts";
import type { Reader, Row, Transaction } from "../../store.ts";
import { readHashes, writeHashes } from "./audit-logs.ts";

/** Maximum time between the ids of one seal, so that an id is enough to find its seal. */
export const SEAL_SPAN_MS = 10_000;

/** Hashes in a tile. */
export const TILE_WIDTH = 256;

export interface StoredSeal {
  readonly projectId: string;
  /** Of its first entry, from 0. */
  readonly position: number;
  readonly entries: number;
  readonly firstId: string;
  readonly lastId: string;
  readonly ids: readonly string[];
  /** Of the leaves. */
  readonly hashes: readonly Hash[];
  /** Of the log with all of them, as a signed note. */
  readonly checkpoint: string;
  readonly sealedAt: number;
}

const SEAL = `project_id, position, entries, first_id, last_id, ids, hashes, checkpoint,
  sealed_at`;

export async function insertSeal(tx: Transaction, seal: StoredSeal): Promise<void> {
  await tx.insert(
    `insert into audit_seal (project_id, position, entries, first_id, last_id, ids, hashes,
       checkpoint, sealed_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      seal.projectId,
      seal.position,
      seal.entries,
      seal.firstId,
      seal.lastId,
      seal.ids.join(" "),
      writeHashes(seal.hashes),
      seal.checkpoint,
      seal.sealedAt,
    ],
  );
}

/** In their order, from that position on, where a seal begins. */
export async function readSeals(
  reader: Reader,
  projectId: string,
  from: number,
  limit: number,
): Promise<StoredSeal[]> {
  const rows = await reader.all(
    `select ${SEAL} from audit_seal where project_id = $1 and position >= $2
     order by position limit $3`,
    [projectId, from, limit],
  );
  return rows.map(toSeal);
}

/** How many entries the seals from a position on have, in their order. */
export async function readSealEntryCounts(
  reader: Reader,
  projectId: string,
  from: number,
  limit: number,
): Promise<number[]> {
  const rows = await reader.all(
    `select entries from audit_seal where project_id = $1 and position >= $2
     order by position limit $3`,
    [projectId, from, limit],
  );
  return rows.map(({ entries }) => Number(entries));
}

/** The seal in which an entry with this position is. */
export async function readSealAt(
  reader: Reader,
  projectId: string,
  position: number,
): Promise<StoredSeal | undefined> {
  const row = await reader.get(
    `select ${SEAL} from audit_seal where project_id = $1 and position <= $2
     order by position desc limit 1`,
    [projectId, position],
  );
  return row && toSeal(row);
}

/** Which of the ids from one to another are sealed, both included; others may be among them. */
export async function readSealedIds(
  reader: Reader,
  projectId: string,
  first: string,
  last: string,
): Promise<Set<string>> {
  const rows = await reader.all(
    `select ids from audit_seal where project_id = $1 and last_id >= $2 and last_id <= $3
       and first_id <= $4`,
    [projectId, first, lastOfSpan(last), last],
  );
  return new Set(rows.flatMap(({ ids }) => String(ids).split(" ")));
}

/** Ids behind one that are sealed; others may be among them. */
export async function readSealedIdsAfter(
  reader: Reader,
  projectId: string,
  after: string,
): Promise<Set<string>> {
  const sql = "select ids from audit_seal where project_id = $1 and last_id > $2";
  const rows = await reader.all(sql, [projectId, after]);
  return new Set(rows.flatMap(({ ids }) => String(ids).split(" ")));
}

/** The seal that holds an entry; undefined when it is not sealed. */
export async function readSealOf(
  reader: Reader,
  projectId: string,
  id: string,
): Promise<StoredSeal | undefined> {
  const rows = await reader.all(
    `select ${SEAL} from audit_seal where project_id = $1 and last_id >= $2 and last_id <= $3
       and first_id <= $2`,
    [projectId, id, lastOfSpan(id)],
  );
  return rows.map(toSeal).find(({ ids }) => ids.includes(id));
}

/** The position of the first seal with an entry of that id or a later one. */
export async function readFirstPosition(
  reader: Reader,
  projectId: string,
  id: string,
): Promise<number | undefined> {
  const sql = "select min(position) as n from audit_seal where project_id = $1 and last_id >= $2";
  const row = await reader.get(sql, [projectId, id]);
  return row === undefined || row.n === null ? undefined : Number(row.n);
}

/** Upper bound of the last id of the seal that contains this id. */
function lastOfSpan(id: string): string {
  const time = timeOfId(id);
  // An id without a time is alone in its seal.
  return time === undefined ? id : firstIdAt(time + SEAL_SPAN_MS + 1);
}

export interface TileKey {
  readonly projectId: string;
  /** Each hash in it is over 256^level entries; from 1. */
  readonly level: number;
  readonly tile: number;
}

/** @returns empty when there is none */
export async function readTile(
  reader: Reader,
  { projectId, level, tile }: TileKey,
): Promise<Hash[]> {
  const row = await reader.get(
    "select hashes from audit_tile where project_id = $1 and level = $2 and tile = $3",
    [projectId, level, tile],
  );
  return row === undefined ? [] : readHashes(String(row.hashes));
}

/** Puts all hashes of a tile, with those that were there before. */
export async function writeTile(
  tx: Transaction,
  { projectId, level, tile }: TileKey,
  hashes: readonly Hash[],
): Promise<void> {
  await tx.run(
    `insert into audit_tile (project_id, level, tile, hashes) values ($1, $2, $3, $4)
     on conflict (project_id, level, tile) do update set hashes = excluded.hashes`,
    [projectId, level, tile, writeHashes(hashes)],
  );
}

function toSeal(row: Row): StoredSeal {
  return {
    projectId: row.project_id as string,
    position: Number(row.position),
    entries: Number(row.entries),
    firstId: row.first_id as string,
    lastId: row.last_id as string,
    ids: String(row.ids).split(" "),
    hashes: readHashes(String(row.hashes)),
    checkpoint: row.checkpoint as string,
    sealedAt: Number(row.sealed_at),
  };
}
