/** The names of the roles in the language of the reader. */

import type { ReviewerRole } from "@countersign/review-api";
import { t } from "./language/t.ts";

const NAMES: Readonly<Record<ReviewerRole, string>> = {
  viewer: t`viewer`,
  reviewer: t`reviewer`,
  editor: t`editor`,
  auditor: t`auditor`,
  admin: t`admin`,
  operator: t`operator`,
};

/** A newer server may have more roles. */
export function roleName(role: string): string {
  return NAMES[role as ReviewerRole] ?? role;
}
