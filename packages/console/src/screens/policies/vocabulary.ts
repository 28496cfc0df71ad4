/** The names that completions offer beside the words of the language. */

import type { PolicyUsage } from "@countersign/review-api";

export type Vocabulary = Pick<
  PolicyUsage,
  "tools" | "instances" | "instance_groups" | "reviewer_groups" | "reviewers" | "schedules"
>;

export const NO_VOCABULARY: Vocabulary = {
  tools: [],
  instances: [],
  instance_groups: [],
  reviewer_groups: [],
  reviewers: [],
  schedules: [],
};
