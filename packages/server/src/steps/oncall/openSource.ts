/** Decrypts the sources of on-call schedules. */

import type { Context } from "../../context.ts";
import type { ScheduleSource } from "../../core/oncall.ts";
import type { StoredSchedule } from "../../storage/sql/oncall/schedules.ts";

/** Encryption context of the source of a schedule. */
export function sourceContext(id: string): string {
  return `oncall source ${id}`;
}

/** Decrypts the source of a schedule. */
export function openSource(
  { keyring }: Pick<Context, "keyring">,
  { id, encryptedSource }: Pick<StoredSchedule, "id" | "encryptedSource">,
): ScheduleSource {
  return JSON.parse(keyring.decrypt(encryptedSource, sourceContext(id))) as ScheduleSource;
}
