/** The reviewer API defines roles and powers, because the console needs them too. */
export {
  allows,
  type Power,
  powersOf,
  REVIEWER_ROLES,
  type ReviewerRole,
} from "@countersign/review-api/roles";
