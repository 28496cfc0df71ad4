/**
 * Copies of the rows that the server wrote for one decided request, with other identifiers and
 * times, and with the MACs of their database: a server accepts them as its own.
 */

import { randomBytes } from "node:crypto";
import { uuidV7 } from "@countersign/protocol";
import type { StoredEntry } from "../packages/server/src/core/audit-line.ts";
import { writeEvent } from "../packages/server/src/core/notification.ts";
import { hashRequestKey, Keyring } from "../packages/server/src/secrets/keyring.ts";
import { decryptRowKey } from "../packages/server/src/secrets/row-key.ts";
import { Integrity } from "../packages/server/src/storage/integrity.ts";
import { macOfEntry } from "../packages/server/src/storage/sql/audit/audit-entries.ts";
import { authenticateRow } from "../packages/server/src/storage/sql/requests/request-rows.ts";
import type { Row } from "../packages/server/src/storage/store.ts";

export interface RequestRows {
  /** Of the database that they are from. */
  readonly integrity: Integrity;
  readonly request: Row;
  readonly entries: readonly Row[];
  /** One that no attempt was made for, if there is one. */
  readonly notification: Row | undefined;
}

/** @param key an Idempotency-Key that no other copy has */
export function copyRows(rows: RequestRows, at: number, key: string): RequestRows {
  const { integrity, request, entries, notification } = rows;
  const id = uuidV7(at, randomBytes(10));
  const deadlineAt = at + Number(request.deadline_at) - Number(request.created_at);
  const times = { created_at: at, deadline_at: deadlineAt, decided_at: at };
  const keyHash = hashRequestKey(String(request.instance_id), key);
  const copy = { ...request, ...times, id, key_hash: keyHash };
  return {
    integrity,
    request: { ...copy, ...authenticateRow(integrity, copy) },
    entries: entries.map((entry) => {
      const copy = {
        ...entry,
        id: uuidV7(at, randomBytes(10)),
        at,
        subject: `request:${id}`,
        detail: withDeadline(entry.detail, deadlineAt),
      };
      return { ...copy, mac: macOfEntry(integrity, toEntry(copy)) };
    }),
    notification: notification && { ...notification, ...notificationOf(notification, id, at) },
  };
}

function withDeadline(detail: unknown, deadlineAt: number): string {
  const fields = JSON.parse(String(detail));
  return JSON.stringify("deadline_at" in fields ? { ...fields, deadline_at: deadlineAt } : fields);
}

function toEntry(row: Row): StoredEntry {
  const { project_id: projectId, id, at, kind, actor, subject, detail } = row;
  return { projectId, id, at, kind, actor, subject, detail } as StoredEntry;
}

/** The columns that differ between notifications, as resolveRequest writes them. */
function notificationOf(notification: Row, requestId: string, at: number): Row {
  const id = uuidV7(at, randomBytes(10));
  const instanceId = String(notification.instance_id);
  const body = writeEvent({ id, instanceId, requestId, decidedAt: at });
  return { id, request_id: requestId, body, created_at: at, next_at: at };
}

/** Of the copies, when the first of `count` is `oldestMs` old and the others follow evenly. */
export function timeOf(i: number, count: number, oldestMs: number, now: number): number {
  return now - oldestMs + Math.floor((oldestMs * i) / count);
}

/**
 * @param secretKey of the server, base64
 * @param encryptedRowKey as its database has it
 */
export function integrityWith(secretKey: string, encryptedRowKey: unknown): Integrity {
  const integrity = new Integrity();
  const keyring = new Keyring(Buffer.from(secretKey, "base64"));
  integrity.useKey(decryptRowKey(keyring, String(encryptedRowKey)));
  return integrity;
}
