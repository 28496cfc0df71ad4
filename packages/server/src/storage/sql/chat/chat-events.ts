/** Rows of the table `chat_event`: events with a verdict that arrived. */

import type { Transaction } from "../../store.ts";
import type { RowKey } from "../keys.ts";

/** @returns false when the event arrived before */
export async function insertChatEvent(
  tx: Transaction,
  { projectId, id: channelId }: RowKey,
  eventId: string,
  arrivedAt: number,
): Promise<boolean> {
  const inserted = await tx.run(
    `insert into chat_event (project_id, channel_id, event_id, arrived_at)
     values ($1, $2, $3, $4)
     on conflict (project_id, channel_id, event_id) do nothing`,
    [projectId, channelId, eventId, arrivedAt],
  );
  return inserted === 1;
}

/** Longer than the age at which a platform's event is rejected. */
const KEPT_MS = 60 * 60_000;

/**
 * Deletes events that are rejected for their age, and expired codes.
 *
 * @returns how many rows
 */
export async function deleteOldChatEvents(
  tx: Transaction,
  projectId: string,
  now: number,
): Promise<number> {
  const events = await tx.run("delete from chat_event where project_id = $1 and arrived_at <= $2", [
    projectId,
    now - KEPT_MS,
  ]);
  const codes = await tx.run("delete from chat_code where project_id = $1 and expires_at <= $2", [
    projectId,
    now,
  ]);
  return events + codes;
}
