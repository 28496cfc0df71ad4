/**
 * Stored requests by the hundred thousand, in seconds: the rows that the server wrote for one
 * decided request, again and again under other identifiers and times.
 */

import { randomBytes } from "node:crypto";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { uuidV7 } from "@countersign/protocol";
import { writeEvent } from "@countersign/server/core/notification";
import { hashRequestKey } from "@countersign/server/secrets/keyring";
import { checksumOfRow } from "@countersign/server/storage/sql/requests";
import type { Row } from "@countersign/server/storage/store";

const ROWS_PER_COMMIT = 20_000;

/**
 * Copies the first request of a database that no server has open, with its audit entries and
 * with its notification, if it has one that no attempt was made for.
 *
 * @param oldestMs how long ago the first of them was made and decided; the others follow evenly
 * @param onCopied called for each, in the order of their age
 */
export function copyFirstRequest(
  file: string,
  count: number,
  oldestMs: number,
  onCopied: (id: string, i: number) => void = () => undefined,
): void {
  const database = new DatabaseSync(file);
  database.exec("pragma synchronous = off; pragma cache_size = -1048576");
  const insert = copier(database);
  const now = Date.now();
  for (let i = 0; i < count; i++) {
    if (i % ROWS_PER_COMMIT === 0) database.exec("begin");
    const at = now - oldestMs + Math.floor((oldestMs * i) / count);
    onCopied(insert(at, `copied-${i}`), i);
    if ((i + 1) % ROWS_PER_COMMIT === 0 || i + 1 === count) database.exec("commit");
  }
  database.exec("pragma synchronous = full; pragma wal_checkpoint(truncate)");
  database.close();
}

/** @returns inserts the rows of one more request and answers its id */
function copier(database: DatabaseSync): (at: number, key: string) => string {
  const request = database.prepare("select * from request").get() ?? {};
  const instanceId = String(request.instance_id);
  const windowMs = Number(request.deadline_at) - Number(request.created_at);
  const entries = database
    .prepare("select * from audit_entry where subject like 'request:%'")
    .all();
  const notification = database.prepare("select * from notification").get();
  const insertRequest = inserter(database, "request", request);
  const insertEntry = inserter(database, "audit_entry", entries[0] ?? {});
  const insertNotification = inserter(database, "notification", notification ?? {});
  return (at, key) => {
    const id = uuidV7(at, randomBytes(10));
    const deadlineAt = at + windowMs;
    const times = { created_at: at, deadline_at: deadlineAt, decided_at: at };
    const row = { ...request, ...times, id, key_hash: hashRequestKey(instanceId, key) };
    insertRequest({ ...row, checksum: checksumOfRow(row as Row) });
    for (const entry of entries) {
      insertEntry({ ...entry, id: uuidV7(at, randomBytes(10)), at, subject: `request:${id}` });
    }
    if (notification !== undefined) {
      insertNotification({ ...notification, ...notificationOf(notification, id, at) });
    }
    return id;
  };
}

/** What differs from notification to notification, as resolveRequest writes it. */
function notificationOf(notification: CopiedRow, requestId: string, at: number): CopiedRow {
  const id = uuidV7(at, randomBytes(10));
  const instanceId = String(notification.instance_id);
  const body = writeEvent({ id, instanceId, requestId, decidedAt: at });
  return { id, request_id: requestId, body, created_at: at, next_at: at };
}

type CopiedRow = Readonly<Record<string, SQLInputValue>>;

/** Inserts rows with the columns of the example, whatever these are. */
function inserter(
  database: DatabaseSync,
  name: string,
  example: CopiedRow,
): (row: CopiedRow) => void {
  const columns = Object.keys(example);
  if (columns.length === 0) return () => undefined;
  const places = columns.map(() => "?").join(", ");
  const statement = database.prepare(
    `insert into ${name} (${columns.join(", ")}) values (${places})`,
  );
  return (row) => statement.run(...columns.map((column) => row[column] ?? null));
}
