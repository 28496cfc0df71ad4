/** The statuses of resolved requests, in the order in which a chart stacks them. */

import { t } from "../../language/t.ts";

export const STATUSES = ["approved", "denied", "expired", "cancelled"] as const;

export type ResolvedStatus = (typeof STATUSES)[number];

export const STATUS_WORDS: Readonly<Record<ResolvedStatus, string>> = {
  approved: t`Approved`,
  denied: t`Denied`,
  expired: t`Expired`,
  cancelled: t`Cancelled`,
};

export const COUNT_WORDS: Readonly<Record<ResolvedStatus, (count: number) => string>> = {
  approved: (count) => t`${count} approved`,
  denied: (count) => t`${count} denied`,
  expired: (count) => t`${count} expired`,
  cancelled: (count) => t`${count} cancelled`,
};
