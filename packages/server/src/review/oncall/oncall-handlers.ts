/** Handlers of on-call schedules. */

import { formatTimestamp, invalidField } from "@countersign/protocol";
import type { BodyReceived, oncall, Schedule } from "@countersign/review-api";
import type { Context } from "../../context.ts";
import type { ScheduleSource } from "../../core/oncall.ts";
import { isTimeZone } from "../../core/quiet-hours.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import { type ListedSchedule, listSchedules } from "../../operations/oncall/listSchedules.ts";
import { removeSchedule, writeSchedule } from "../../operations/oncall/writeSchedule.ts";

const API_URLS = {
  pagerduty: "https://api.pagerduty.com",
  opsgenie: "https://api.opsgenie.com",
} as const;

export function oncallHandlers(context: Context): Handlers<typeof oncall> {
  return {
    async listSchedules({ caller }) {
      return { schedules: (await listSchedules(context, caller)).map(toWire) };
    },

    async writeSchedule({ caller, body: { name, source, people = {} } }) {
      const order = { source: sourceOf(source), people };
      const { id } = await writeSchedule(context, caller, name, order);
      return { id, name };
    },

    async deleteSchedule({ caller, path: { id } }) {
      await removeSchedule(context, caller, id);
      return { deleted: id };
    },
  };
}

type SentSource = BodyReceived<typeof oncall.writeSchedule>["source"];

/** @throws Problem `invalid_request` naming the field */
function sourceOf(source: SentSource): ScheduleSource {
  switch (source.kind) {
    case "ical":
      return source;
    case "pagerduty":
    case "opsgenie": {
      const { kind, schedule, token, url = API_URLS[kind] } = source;
      return { kind, schedule, token, url: url.replace(/\/+$/, "") };
    }
    case "static": {
      const { kind, reviewers, starts_at: startsAt, days, time_zone: timeZone } = source;
      if (!isTimeZone(timeZone)) {
        throw invalidField("source.time_zone", "must be a time zone like Europe/Berlin");
      }
      return { kind, reviewers, startsAt, days, timeZone };
    }
  }
}

function toWire({ schedule, onCall }: ListedSchedule): Schedule {
  const { name, kind, failure, fetchedAt, people } = schedule;
  const isPending = fetchedAt === null && failure === null && kind !== "static";
  const isCurrent = onCall.problem === undefined;
  return {
    id: schedule.id,
    name,
    source: kind,
    state: isPending ? "pending" : isCurrent ? "current" : "unavailable",
    failure: failure ?? undefined,
    fetched_at: fetchedAt === null ? undefined : formatTimestamp(fetchedAt),
    on_call: onCall.people.map(({ who, reviewer }) => ({ who, reviewer })),
    people: { ...people },
  };
}
