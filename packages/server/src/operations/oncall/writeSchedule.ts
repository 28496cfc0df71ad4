/** Creates, replaces and deletes on-call schedules. */

import { invalidField, Problem, uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { SCHEDULES_PER_PROJECT_MAX, type ScheduleSource } from "../../core/oncall.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { sourceContext } from "../../steps/oncall/openSource.ts";
import {
  deleteSchedule,
  findSchedule,
  listSchedulesOf,
  readSchedule,
  type StoredSchedule,
  writeSchedule as writeRow,
} from "../../storage/sql/oncall/schedules.ts";

export interface ScheduleOrder {
  readonly source: ScheduleSource;
  /** Names of reviewers by the ids of the source. */
  readonly people: Readonly<Record<string, string>>;
}

/**
 * Creates or replaces a schedule. The server fetches a remote one at once.
 *
 * @throws Problem `forbidden`; `invalid_request` naming the field
 */
export async function writeSchedule(
  context: Context,
  caller: ReviewerCaller,
  name: string,
  { source, people }: ScheduleOrder,
): Promise<StoredSchedule> {
  assertMay(caller, "people");
  assertSource(context, source);
  const { store, random, keyring } = context;
  const { projectId, reviewerId } = caller;
  return store.transact(async (tx) => {
    const now = await tx.now();
    const before = await findSchedule(tx, projectId, name);
    const count = (await listSchedulesOf(tx, projectId)).length;
    if (before === undefined && count >= SCHEDULES_PER_PROJECT_MAX) {
      const message = `The project has ${count} schedules, the maximum. Delete one first.`;
      throw new Problem("invalid_request", message, { param: "name" });
    }
    const id = before?.id ?? uuidV7(now, random.bytes(10));
    const schedule: StoredSchedule = {
      projectId,
      id,
      name,
      kind: source.kind,
      encryptedSource: keyring.encrypt(JSON.stringify(source), sourceContext(id)),
      people,
      nextAt: source.kind === "static" ? null : now,
      fetchedAt: null,
      shifts: [],
      failure: null,
      createdAt: before?.createdAt ?? now,
    };
    await writeRow(tx, schedule);
    await appendAudit(tx, random, {
      at: now,
      projectId,
      kind: before === undefined ? "schedule.created" : "schedule.updated",
      actor: `reviewer:${reviewerId}`,
      subject: `schedule:${id}`,
      detail: { name, source: source.kind, people: Object.values(people) },
    });
    return schedule;
  });
}

function assertSource({ outbound }: Context, source: ScheduleSource): void {
  if (source.kind === "static" || outbound.accepts(source.url)) return;
  throw invalidField("source.url", "must be an https URL that this server may fetch");
}

/**
 * Deletes a schedule. Steps of policies that name it reach no reviewer any more.
 *
 * @throws Problem `forbidden`; `not_found`
 */
export async function removeSchedule(
  { store, random }: Pick<Context, "store" | "random">,
  caller: ReviewerCaller,
  id: string,
): Promise<void> {
  assertMay(caller, "people");
  const { projectId, reviewerId } = caller;
  await store.transact(async (tx) => {
    const schedule = await readSchedule(tx, { projectId, id });
    if (schedule === undefined) throw new Problem("not_found");
    await deleteSchedule(tx, schedule);
    await appendAudit(tx, random, {
      at: await tx.now(),
      projectId,
      kind: "schedule.deleted",
      actor: `reviewer:${reviewerId}`,
      subject: `schedule:${id}`,
      detail: { name: schedule.name },
    });
  });
}
