/** The filters that the history and the search share. */

import * as v from "valibot";
import { STATUSES } from "./request-shapes.ts";
import { identifierParameter, parameter, timeParameter } from "./schema.ts";

/** Statuses with commas between them; the handler receives a list. */
const statusesParameter = v.optional(
  v.pipe(
    v.string("must be given once"),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const values = dataset.value.split(",");
      const statuses = STATUSES.filter((status) => values.includes(status));
      if (values.every((word) => statuses.some((status) => status === word))) return statuses;
      addIssue({ message: `must be of ${STATUSES.join(", ")}` });
      return NEVER;
    }),
    v.metadata({ pattern: `^(${STATUSES.join("|")})(,(${STATUSES.join("|")}))*$` }),
  ),
);

/** An omitted filter matches everything. */
export const filter = {
  tool: parameter(),
  tool_prefix: parameter(),
  server: parameter(),
  instance_id: identifierParameter("an instance"),
  /** Like `reviewer:ID`, or a kind like `policy`. */
  decided_by: parameter(),
  status: statusesParameter,
  /** Decided then or later. */
  since: timeParameter,
  /** Decided earlier. */
  until: timeParameter,
};
