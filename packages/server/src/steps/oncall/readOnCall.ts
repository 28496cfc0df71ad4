/** Finds the reviewers who are on call. */

import type { Context } from "../../context.ts";
import { rotaReviewer, SHIFTS_VALID_MS, whoIsOnCall } from "../../core/oncall.ts";
import { allows } from "../../core/roles.ts";
import { readReviewerByName } from "../../storage/sql/access/holders.ts";
import { findSchedule, type StoredSchedule } from "../../storage/sql/oncall/schedules.ts";
import type { Reader } from "../../storage/store.ts";
import { mayAuthenticate } from "../access/mayAuthenticate.ts";
import { openSource } from "./openSource.ts";

/** A person of a schedule. */
export interface OnCallPerson {
  /** As the source names the person. */
  readonly who: string;
  /** Name of the reviewer; undefined: unknown here, or without the right to decide. */
  readonly reviewer: string | undefined;
}

export interface OnCall {
  readonly people: readonly OnCallPerson[];
  /** Why the list may be incomplete: a word; undefined when it is current. */
  readonly problem: "no_schedule" | "unavailable" | undefined;
}

/** @param name of the schedule */
export async function readOnCall(
  reader: Reader,
  context: Pick<Context, "keyring">,
  projectId: string,
  name: string,
  now: number,
): Promise<OnCall> {
  const schedule = await findSchedule(reader, projectId, name);
  if (schedule === undefined) return { people: [], problem: "no_schedule" };
  return onCallOf(reader, context, schedule, now);
}

/** The people of a schedule who are on call now. */
export async function onCallOf(
  reader: Reader,
  context: Pick<Context, "keyring">,
  schedule: StoredSchedule,
  now: number,
): Promise<OnCall> {
  const { kind, projectId, fetchedAt, shifts, people } = schedule;
  if (kind === "static") {
    const source = openSource(context, schedule);
    const who = source.kind === "static" ? rotaReviewer(source, now) : undefined;
    const found = who === undefined ? [] : [await toPerson(reader, projectId, who, who)];
    return { people: found, problem: undefined };
  }
  if (fetchedAt === null || fetchedAt + SHIFTS_VALID_MS <= now) {
    return { people: [], problem: "unavailable" };
  }
  const found: OnCallPerson[] = [];
  for (const who of whoIsOnCall(shifts, now)) {
    found.push(await toPerson(reader, projectId, who, personOf(people, who)));
  }
  return { people: found, problem: undefined };
}

/** A name of the source must not find a member of every object. */
function personOf(people: StoredSchedule["people"], who: string): string | undefined {
  return Object.hasOwn(people, who) ? people[who] : undefined;
}

async function toPerson(
  reader: Reader,
  projectId: string,
  who: string,
  name: string | undefined,
): Promise<OnCallPerson> {
  const found = name === undefined ? undefined : await readReviewerByName(reader, projectId, name);
  const mayDecide =
    found !== undefined &&
    !found.isBot &&
    allows(found.role, "decide") &&
    (await mayAuthenticate(reader, found));
  return { who, reviewer: mayDecide ? found.name : undefined };
}
