import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type OnCall, onCallOf } from "../../steps/oncall/readOnCall.ts";
import { listSchedulesOf, type StoredSchedule } from "../../storage/sql/oncall/schedules.ts";

export interface ListedSchedule {
  readonly schedule: StoredSchedule;
  readonly onCall: OnCall;
}

/** The schedules of the project, with the people who are on call now. */
export async function listSchedules(
  context: Context,
  { projectId }: ReviewerCaller,
): Promise<ListedSchedule[]> {
  const { store, clock } = context;
  const now = clock.now();
  const listed: ListedSchedule[] = [];
  for (const schedule of await listSchedulesOf(store, projectId)) {
    listed.push({ schedule, onCall: await onCallOf(store, context, schedule, now) });
  }
  return listed;
}
