/** Appends audit entries to a sealed log, in batches. */

import type { KeyObject } from "node:crypto";
import { timeOfId } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { type StoredEntry, writeEntry } from "../../core/audit-line.ts";
import { Frontier, type Hash, hashLeaf } from "../../core/merkle.ts";
import { privateKeyOf, signCheckpoint } from "../../core/signed-note.ts";
import { Failure } from "../../failure.ts";
import type { RecentlyUsed } from "../../recently-used.ts";
import { type StoredLog, updateLog } from "../../storage/sql/audit/audit-logs.ts";
import {
  insertSeal,
  readTile,
  SEAL_SPAN_MS,
  TILE_WIDTH,
  writeTile,
} from "../../storage/sql/audit/audit-seals.ts";
import type { Transaction } from "../../storage/store.ts";
import { keyContext } from "./createAuditLog.ts";

/**
 * Limits the time for which one transaction blocks the thread to about 2 ms (see
 * docs/decisions/0018).
 */
const ENTRIES_PER_SEAL_MAX = 256;

/** Maximum time ahead of the clock at which an entry still moves the start of the search. */
const AHEAD_MS_MAX = 60_000;

/** Decrypted keys, by their ciphertext. */
export type OpenKeys = RecentlyUsed<string, KeyObject>;

/**
 * Appends entries to a log: their leaves, a seal with their positions, and a checkpoint.
 *
 * @param log locked by this transaction
 * @param entries unsealed ones, ordered by id, as from {@link batchOf}
 * @returns the updated log
 * @throws Failure `secret-key` when the signing key cannot be decrypted, `audit` when the state of
 * the log is damaged; nothing is appended then
 */
export async function appendSealed(
  tx: Transaction,
  { keyring }: Pick<Context, "keyring">,
  keys: OpenKeys,
  log: StoredLog,
  entries: readonly StoredEntry[],
  now: number,
): Promise<StoredLog> {
  const { projectId, origin: name, publicKey, size: position } = log;
  const privateKey = openKey(keyring, keys, log);
  const frontier = frontierOf(log);
  const tiles = new Map<string, TileGrowth>();
  const hashes = entries.map((entry) => hashLeaf(writeEntry(entry)));
  for (const leaf of hashes) {
    frontier.append(leaf, (height, index, hash) => {
      if (height > 0 && height % TILE_BITS === 0) grow(tiles, height / TILE_BITS, index, hash);
    });
  }
  const head = { size: frontier.size, root: frontier.root() };
  const checkpoint = signCheckpoint(head, { name, privateKey }, publicKey);
  const ids = entries.map(({ id }) => id);
  const [firstId = "", lastId = ""] = [ids[0], ids.at(-1)];
  const sealed = { position, entries: ids.length, firstId, lastId, ids, hashes };
  await insertSeal(tx, { projectId, ...sealed, checkpoint, sealedAt: now });
  for (const { level, tile, from, hashes } of tiles.values()) {
    const before = from === 0 ? [] : await readTile(tx, { projectId, level, tile });
    await writeTile(tx, { projectId, level, tile }, [...before.slice(0, from), ...hashes]);
  }
  const { size, subtrees } = frontier;
  const next = { ...log, size, subtrees: [...subtrees], checkpoint, sealedAt: now };
  await updateLog(tx, next);
  return next;
}

function frontierOf({ origin, size, subtrees }: StoredLog): Frontier {
  try {
    return new Frontier(size, subtrees);
  } catch (error) {
    const message = `the state of the log ${origin} is damaged: run countersign audit verify`;
    throw new Failure("audit", message, error);
  }
}

/** New hashes in a tile. */
interface TileGrowth {
  readonly level: number;
  readonly tile: number;
  /** Position of the first one in the tile. */
  readonly from: number;
  readonly hashes: Hash[];
}

/** Heights of one level of tiles. */
const TILE_BITS = Math.log2(TILE_WIDTH);

function grow(tiles: Map<string, TileGrowth>, level: number, index: number, hash: Hash): void {
  const tile = Math.floor(index / TILE_WIDTH);
  const name = `${level} ${tile}`;
  const growth = tiles.get(name) ?? { level, tile, from: index % TILE_WIDTH, hashes: [] };
  growth.hashes.push(hash);
  tiles.set(name, growth);
}

function openKey(
  keyring: Context["keyring"],
  keys: OpenKeys,
  { projectId, encryptedPrivateKey }: StoredLog,
): KeyObject {
  const known = keys.get(encryptedPrivateKey);
  if (known !== undefined) return known;
  const seed = keyring.decrypt(encryptedPrivateKey, keyContext(projectId));
  const key = privateKeyOf(Buffer.from(seed, "base64"));
  keys.set(encryptedPrivateKey, key);
  return key;
}

/** The first ids for one seal: a bounded number, within a bounded time after the first. */
export function batchOf(ids: readonly string[]): string[] {
  const [first = ""] = ids;
  const start = timeOfId(first);
  const isNear = (id: string) => {
    const time = timeOfId(id);
    if (start === undefined || time === undefined) return id === first;
    return time - start <= SEAL_SPAN_MS;
  };
  const end = ids.findIndex((id) => !isNear(id));
  return ids.slice(0, Math.min(end === -1 ? ids.length : end, ENTRIES_PER_SEAL_MAX));
}

/** Start of the search after these ids were sealed. An id from far ahead does not move it. */
export function sealedIdAfter(before: string, ids: readonly string[], now: number): string {
  return ids.reduce((highest, id) => {
    const time = timeOfId(id);
    const counts = time !== undefined && time <= now + AHEAD_MS_MAX;
    return counts && id > highest ? id : highest;
  }, before);
}
