/** The parts of a request that several answers share. */

import * as v from "valibot";

/** Of resolved requests. */
export const STATUSES = ["approved", "denied", "expired", "cancelled"] as const;

export const anyStatus = v.picklist(["pending", ...STATUSES]);

export const confirmKind = v.picklist(["click", "type", "match", "passkey"]);

/** The call in one line, from the agent's text; absent: the arguments are too large. */
export const line = v.optional(
  v.object({
    /** Such as `command`, `edit` or `custom`. */
    kind: v.string(),
    text: v.string(),
    /** The parts that the text omits, such as "3 more arguments"; absent: none. */
    more: v.optional(v.string()),
  }),
);
