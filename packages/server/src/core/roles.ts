/** The table of roles and powers is part of the reviewer API, which the console reads too. */
export {
  allows,
  type Power,
  powersOf,
  REVIEWER_ROLES,
  type ReviewerRole,
} from "@countersign/review-api/roles";
