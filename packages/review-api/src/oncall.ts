/** On-call schedules, which steps of an escalation name. */

import * as v from "valibot";
import { operation } from "./operation.ts";
import { anyText, body, id, storable, timestamp } from "./schema.ts";

const PEOPLE_MAX = 100;
const NAME_CHARS_MAX = 256;
const ROTA_DAYS_MAX = 366;

const shortText = v.pipe(
  anyText,
  storable,
  v.check(
    (text) => text.length > 0 && text.length <= NAME_CHARS_MAX && text.trim() === text,
    `must be 1 to ${NAME_CHARS_MAX} characters, without spaces at its ends`,
  ),
);

export const schedule = v.object({
  id,
  name: v.string(),
  source: v.picklist(["static", "ical", "pagerduty", "opsgenie"]),
  /** `current`, `pending` before the first fetch, or `unavailable`. */
  state: v.picklist(["current", "pending", "unavailable"]),
  /** Why the last fetch failed. */
  failure: v.optional(v.string()),
  fetched_at: v.optional(timestamp),
  on_call: v.array(
    v.object({
      /** As the source names the person. */
      who: v.string(),
      /** Absent: no reviewer who can decide is assigned. */
      reviewer: v.optional(v.string()),
    }),
  ),
  /** Names of reviewers by the ids of the source. */
  people: v.record(v.string(), v.string()),
});

export type Schedule = v.InferOutput<typeof schedule>;

const remote = {
  schedule: shortText,
  token: shortText,
  /** Base URL of the API. */
  url: v.optional(shortText),
};

const source = v.variant(
  "kind",
  [
    v.strictObject({
      kind: v.literal("static"),
      reviewers: v.pipe(
        v.array(shortText, "must be a list of names"),
        v.minLength(1, "must have a reviewer"),
        v.maxLength(PEOPLE_MAX, `must have at most ${PEOPLE_MAX} reviewers`),
      ),
      starts_at: v.pipe(
        v.string("must be a timestamp"),
        v.isoTimestamp("must be a timestamp like 2026-01-05T09:00:00Z"),
        v.transform(Date.parse),
      ),
      days: v.pipe(
        v.number("must be a number of days"),
        v.integer("must be a whole number of days"),
        v.minValue(1, "must be at least 1"),
        v.maxValue(ROTA_DAYS_MAX, `must be at most ${ROTA_DAYS_MAX}`),
      ),
      time_zone: shortText,
    }),
    v.strictObject({ kind: v.literal("ical"), url: shortText }),
    v.strictObject({ kind: v.literal("pagerduty"), ...remote }),
    v.strictObject({ kind: v.literal("opsgenie"), ...remote }),
  ],
  "must have a kind: static, ical, pagerduty or opsgenie",
);

export const oncall = {
  listSchedules: operation({
    method: "GET",
    path: "/schedules",
    summary: "List the on-call schedules, with the people who are on call now.",
    caller: "reviewer",
    power: "read",
    answers: { 200: v.object({ schedules: v.array(schedule) }) },
    errors: [],
  }),

  writeSchedule: operation({
    method: "PUT",
    path: "/schedules",
    summary: "Create an on-call schedule, or replace the one with this name.",
    caller: "reviewer",
    power: "people",
    body: body({
      name: v.pipe(
        anyText,
        v.regex(
          /^[a-z0-9][a-z0-9._-]{0,63}$/,
          "must be a name of a-z, 0-9, ., _ and -, like payments",
        ),
      ),
      source,
      people: v.optional(v.record(shortText, shortText, "must be an object")),
    }),
    answers: { 200: v.object({ id, name: v.string() }) },
    errors: ["forbidden"],
  }),

  deleteSchedule: operation({
    method: "DELETE",
    path: "/schedules/{id}",
    summary: "Delete an on-call schedule.",
    caller: "reviewer",
    power: "people",
    answers: { 200: v.object({ deleted: id }) },
    errors: ["forbidden", "not_found"],
  }),
};
