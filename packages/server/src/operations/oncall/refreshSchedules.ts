import type { Context } from "../../context.ts";
import type { RemoteSource, Shift } from "../../core/oncall.ts";
import { readSource, sourceRequest } from "../../core/oncall-sources.ts";
import { openSource } from "../../steps/oncall/openSource.ts";
import {
  claimFetch,
  readDueSchedules,
  type StoredSchedule,
  writeFetched,
  writeFetchFailure,
} from "../../storage/sql/oncall/schedules.ts";

/** Pause between two fetches of a schedule. */
const FETCH_EVERY_MS = 60_000;

/** For one run of the worker. */
const FETCHES_MAX = 20;

const BYTES_MAX = 1_048_576;

/** Fetches the schedules that are due. One process fetches each of them. */
export async function refreshSchedules(context: Context): Promise<void> {
  const { store, clock } = context;
  const due = await readDueSchedules(store, clock.now(), FETCHES_MAX);
  await Promise.all(due.map((schedule) => refresh(context, schedule)));
}

async function refresh(context: Context, schedule: StoredSchedule): Promise<void> {
  const { store } = context;
  const isClaimed = await store.transact(
    async (tx) => claimFetch(tx, schedule, (await tx.now()) + FETCH_EVERY_MS),
    "process",
  );
  const source = openSource(context, schedule);
  if (!isClaimed || source.kind === "static") return;
  const fetched = await fetchShifts(context, source);
  await store.transact(async (tx) => {
    if (typeof fetched === "string") return writeFetchFailure(tx, schedule, fetched);
    return writeFetched(tx, schedule, fetched, await tx.now());
  }, "process");
}

/** @returns the shifts, or a word that states why there are none */
async function fetchShifts(
  { outbound, clock }: Context,
  source: RemoteSource,
): Promise<readonly Shift[] | string> {
  const now = clock.now();
  const reply = await outbound.get({ ...sourceRequest(source, now), bytesMax: BYTES_MAX });
  if (reply.kind === "failed") return reply.failure;
  try {
    return await readSource(source, reply.body, now);
  } catch {
    // The text of the error could contain parts of the answer.
    return "invalid_answer";
  }
}
