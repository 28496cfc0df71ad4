/** Parts of the schemas of documents. Messages complete a sentence about the member. */

import { formatDuration, parseDuration } from "@countersign/protocol";
import { REVIEWER_ROLES } from "@countersign/review-api";
import { isGroupName } from "@countersign/server/core/groups";
import * as v from "valibot";

export const text = v.pipe(v.string("must be a text"), v.minLength(1, "must not be empty"));

export const flag = v.boolean("must be true or false");

export const role = v.picklist(REVIEWER_ROLES, `must be one of ${REVIEWER_ROLES.join(", ")}`);

const NAMES = "must be a list of names";

/** Sorted, without duplicates: their order has no meaning. */
export const names = v.pipe(
  v.array(v.pipe(v.string(NAMES), v.minLength(1, "must not be empty")), NAMES),
  v.transform((list) => sorted(list)),
);

export const groupName = v.pipe(
  text,
  v.check(
    isGroupName,
    "must be 1 to 64 of a-z, 0-9, dot, underscore and hyphen, led by a-z or 0-9",
  ),
);

/** In the spelling of the server, so that `300s` equals `5m`. */
export const duration = v.pipe(
  text,
  v.check((value) => parseDuration(value) !== undefined, "must be a duration, such as 5m"),
  v.transform((value) => formatDuration(parseDuration(value) ?? 0)),
);

export function sorted(list: readonly string[]): string[] {
  return [...new Set(list)].sort();
}
