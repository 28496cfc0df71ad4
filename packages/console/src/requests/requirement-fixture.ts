/** The requirement of a call without a rule, for tests. */

import type { ApprovalRequirement } from "./words.ts";

export const ANY_REVIEWER: ApprovalRequirement = {
  from: [],
  quorum: 1,
  exclude: [],
  confirm: { kind: "click" },
  note: "optional",
  bots: false,
};
