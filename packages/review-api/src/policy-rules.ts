/** The rules of a checked policy, and how calls of the past used the rules of active ones. */

import * as v from "valibot";
import { timestamp } from "./schema.ts";

const names = v.optional(v.array(v.string()));

/** A rule as data. Absent members do not restrict it. */
export const ruleOutline = v.object({
  id: v.string(),
  line: v.number(),
  verb: v.picklist(["approve", "ask", "deny"]),
  tools: names,
  servers: names,
  groups: names,
  instance_ids: names,
  instance_names: names,
  /** The source of the condition. */
  when: v.optional(v.string()),
  note: v.optional(v.string()),
  valid_for: v.optional(v.string()),
  ask: v.optional(
    v.object({
      from: names,
      quorum: v.number(),
      exclude_owner: v.boolean(),
      confirm: v.picklist(["click", "match", "passkey", "type"]),
      note_required: v.boolean(),
      within: v.optional(v.string()),
    }),
  ),
});

/** The period, and the calls of it that an answer counts at most, the latest. */
export const POLICY_USAGE = { periodMs: 7 * 24 * 3_600_000, callsMax: 5_000 };

export const policyUsage = v.object({
  /** Start of the period. */
  since: timestamp,
  /** The number of counted calls. */
  calls: v.number(),
  /** Whether the period has older calls, which are not counted. */
  limited: v.boolean(),
  /** Rules that fired; baseline rules are `floor/ID`. */
  rules: v.array(v.object({ id: v.string(), fired: v.number(), decided: v.number() })),
  tools: v.array(
    v.object({
      tool: v.string(),
      server: v.optional(v.string()),
      calls: v.number(),
      /** Names of members of the arguments, as paths. No values. */
      fields: v.array(v.array(v.string())),
    }),
  ),
  instances: v.array(v.string()),
  instance_groups: v.array(v.string()),
  reviewer_groups: v.array(v.string()),
  reviewers: v.array(v.string()),
  schedules: v.array(v.string()),
});

export type RuleOutline = v.InferOutput<typeof ruleOutline>;
export type PolicyUsage = v.InferOutput<typeof policyUsage>;
