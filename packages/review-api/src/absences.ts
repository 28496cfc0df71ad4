/** Absences of reviewers. An absence changes who is notified, and never who may decide. */

import * as v from "valibot";
import { operation } from "./operation.ts";
import { anyText, body, id, named, storable, timestamp } from "./schema.ts";

export const absence = v.object({
  reviewer: named,
  from: timestamp,
  until: timestamp,
  /** Whether the absence has started. */
  absent: v.boolean(),
  /** Not present: there is none, or they may not decide any more. */
  substitute: v.optional(
    v.object({
      id,
      name: v.string(),
      /** True: nothing is forwarded, and both are notified. */
      absent: v.boolean(),
    }),
  ),
});

export type ShownAbsence = v.InferOutput<typeof absence>;

const INSTANT = "must be a time like 2026-01-31T12:00:00Z";

const instant = v.pipe(
  v.string(INSTANT),
  v.isoTimestamp(INSTANT),
  v.transform(Date.parse),
  v.check((time) => Number.isSafeInteger(time) && time >= 0, INSTANT),
);

const period = body({
  from: instant,
  /** At most 90 days after `from`. */
  until: instant,
  /** Name of a reviewer who may decide. */
  substitute: v.optional(v.pipe(anyText, storable)),
});

const set = { 200: v.object({ set: v.literal(true) }) };

/** False: there was no absence. */
const ended = { 200: v.object({ ended: v.boolean() }) };

export const absences = {
  listAbsences: operation({
    method: "GET",
    path: "/absences",
    summary: "List present and future absences of reviewers.",
    caller: "reviewer",
    power: "read",
    answers: { 200: v.object({ absences: v.array(absence) }) },
    errors: [],
  }),

  setAbsence: operation({
    method: "PUT",
    path: "/absence",
    summary: "Set or change your absence, with an optional substitute.",
    caller: "reviewer",
    power: "decide",
    body: period,
    answers: set,
    errors: ["forbidden"],
  }),

  endAbsence: operation({
    method: "DELETE",
    path: "/absence",
    summary: "End your absence.",
    caller: "reviewer",
    power: "decide",
    answers: ended,
    errors: ["forbidden"],
  }),

  setReviewerAbsence: operation({
    method: "PUT",
    path: "/reviewers/{id}/absence",
    summary: "Set or change the absence of a reviewer.",
    caller: "reviewer",
    power: "people",
    body: period,
    answers: set,
    errors: ["forbidden", "not_found"],
  }),

  endReviewerAbsence: operation({
    method: "DELETE",
    path: "/reviewers/{id}/absence",
    summary: "End the absence of a reviewer.",
    caller: "reviewer",
    power: "people",
    answers: ended,
    errors: ["forbidden", "not_found"],
  }),
};
