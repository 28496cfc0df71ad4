/** Bodies and answers of the policy operations, for both scopes. */

import { parseDuration } from "@countersign/protocol";
import * as v from "valibot";
import { ruleOutline } from "./policy-rules.ts";
import {
  actor,
  anyText,
  body,
  id,
  identifier,
  type NamedSchema,
  named,
  sha256,
  storable,
  text,
  timestamp,
  wholeNumber,
} from "./schema.ts";

/** The policy of the project, or the baseline policy of the server; the start of the paths. */
export type PolicyPath = "policy" | "floor";

const SOURCE_BYTES_MAX = 256 * 1024;
const NUMBER_MAX = 1_000_000_000;

/** The range of calls that a simulation evaluates. */
export const SIMULATION = {
  sinceMsDefault: 7 * 24 * 3_600_000,
  requestsMax: 100_000,
  examplesDefault: 100,
};

export const policySource = v.pipe(
  anyText,
  v.maxBytes(SOURCE_BYTES_MAX, `must not be longer than ${SOURCE_BYTES_MAX} bytes`),
  storable,
);

export const policyDraft = body({ source: policySource });

/** Kept with the version or the proposal. */
export const policyNote = v.optional(v.pipe(text(1_000), storable));

/** The number of a version; 0, where it is allowed, means none. */
export function policyNumber(min: 0 | 1) {
  return wholeNumber(min, NUMBER_MAX);
}

const scope = v.picklist(["project", "floor"]);

export const policyOutline = v.object({
  scope,
  number: v.number(),
  sha256,
  note: v.optional(v.string()),
  published_at: timestamp,
  published_by: actor,
  /** Name of the publisher; absent when they are not of this project. */
  publisher: v.optional(v.string()),
  /** The author, where the version was proposed. */
  proposed_by: v.optional(actor),
  proposer: v.optional(v.string()),
});

/** Whether another person than the author must publish the next version. */
const two_person = v.optional(v.literal(true));

/** Whether the stored text does not match its digest. */
const altered = v.optional(v.literal(true));

export const shownPolicy = v.union([
  v.object({ ...policyOutline.entries, two_person, altered, source: v.string() }),
  /** No version is published. */
  v.object({ scope, number: v.literal(0), two_person }),
]);

/** Something to say about one place of a policy. */
const finding = v.object({
  /** Counted from 1, as is `column`. */
  line: v.number(),
  column: v.number(),
  /** Like `rules[2].when`; empty for the policy as a whole. */
  path: v.string(),
  message: v.string(),
});

const publishedPolicyMembers = {
  ...policyOutline.entries,
  source: v.string(),
  outcome: v.picklist(["published", "in_force"]),
  warnings: v.array(finding),
};

export interface PublishedPolicySchema extends NamedSchema<typeof publishedPolicyMembers> {}

export const publishedPolicy: PublishedPolicySchema = v.object(publishedPolicyMembers);

/** The result of a test that a policy contains. */
const policyTest = v.object({
  /** Counted from 0. */
  index: v.number(),
  name: v.optional(v.string()),
  line: v.number(),
  passed: v.boolean(),
  expected: v.string(),
  got: v.string(),
});

const policyCheckMembers = {
  /** Whether it could be published. */
  valid: v.boolean(),
  /** The number of rules. */
  rules: v.number(),
  /** The rules as data; empty when the policy does not load. */
  outlines: v.array(ruleOutline),
  findings: v.array(finding),
  warnings: v.array(finding),
  tests: v.array(policyTest),
};

export interface PolicyCheckSchema extends NamedSchema<typeof policyCheckMembers> {}

export const policyCheck: PolicyCheckSchema = v.object(policyCheckMembers);

export const proposalOutline = v.object({
  id,
  scope,
  state: v.picklist(["open", "outdated", "published", "rejected"]),
  /** The version that was active for the author; 0 for none. */
  base_number: v.number(),
  sha256,
  note: v.optional(v.string()),
  /** The version that it restores. */
  restores: v.optional(v.number()),
  /** The number of tests. All passed when it was proposed. */
  tests: v.number(),
  proposed_at: timestamp,
  proposed_by: actor,
  /** Name of the author; absent when they are not of this project. */
  proposer: v.optional(v.string()),
  /** Why the caller cannot publish it. */
  refusal: v.optional(v.string()),
  closed_at: v.optional(timestamp),
  closed_by: v.optional(actor),
  closer: v.optional(v.string()),
  reason: v.optional(v.string()),
});

const policyProposalMembers = {
  ...proposalOutline.entries,
  altered,
  source: v.string(),
};

export interface PolicyProposalSchema extends NamedSchema<typeof policyProposalMembers> {}

export const policyProposal: PolicyProposalSchema = v.object(policyProposalMembers);

/** A time, or how long ago, in milliseconds. */
export type Moment = { readonly at: number } | { readonly agoMs: number };

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/;
const MOMENT_RULE = "must be a timestamp in UTC like 2026-01-01T00:00:00Z, or a duration like 24h";

const moment = v.optional(
  v.pipe(
    anyText,
    v.rawTransform(({ dataset: { value }, addIssue, NEVER }): Moment => {
      const agoMs = parseDuration(value);
      if (agoMs !== undefined) return { agoMs };
      const at = TIMESTAMP.test(value) ? Date.parse(value) : Number.NaN;
      if (at >= 0) return { at };
      addIssue({ message: MOMENT_RULE });
      return NEVER;
    }),
    v.metadata({ pattern: `${TIMESTAMP.source}|^[1-9]\\d*[smh]$` }),
  ),
);

export const simulationOrder = body({
  source: policySource,
  since: moment,
  until: moment,
  instance_id: v.optional(identifier("an instance")),
  /** Requests to replay at most, the latest. */
  limit: v.optional(wholeNumber(1, SIMULATION.requestsMax), SIMULATION.requestsMax),
  /** Requests to list of each kind of change at most; all are counted. */
  examples: v.optional(wholeNumber(0, SIMULATION.requestsMax), SIMULATION.examplesDefault),
});

const verb = v.picklist(["approve", "ask", "deny"]);

const simulatedChange = v.object({
  event: v.literal("changed"),
  id,
  tool: v.string(),
  server: v.optional(v.string()),
  instance: named,
  created_at: timestamp,
  was: verb,
  would_be: verb,
  /** Where both ask: the parts of the requirement that differ. */
  differs: v.optional(v.array(v.string())),
  because: v.string(),
  rules: v.array(v.string()),
  errors: v.array(v.object({ rule: v.string(), message: v.string() })),
  status: v.string(),
  decided_by: v.optional(actor),
});

const simulationSummary = v.object({
  event: v.literal("summary"),
  replayed: v.number(),
  unchanged: v.number(),
  /** Counts by kind, like `ask->approve`. */
  changes: v.record(v.string(), v.number()),
  requirement_changed: v.number(),
  /** Requests that are damaged. */
  unreadable: v.number(),
  /** Some of them. */
  unreadable_ids: v.array(id),
  /** Requests on which a rule failed. */
  errors: v.number(),
  /** `limit` and `time`: there are older requests. */
  ended: v.picklist(["all", "limit", "time"]),
});

/** A line of a simulation. The last line is a summary, or an error envelope. */
export const simulationEvent = v.variant("event", [
  v.object({
    event: v.literal("started"),
    since: timestamp,
    until: timestamp,
    /** Requests to replay; null when unknown. */
    total: v.nullable(v.number()),
    floor_number: v.number(),
    policy_number: v.number(),
    groups: v.string(),
  }),
  v.object({ event: v.literal("progress"), replayed: v.number(), reached: timestamp }),
  simulatedChange,
  simulationSummary,
]);

export const ruleSuggestions = v.object({
  /** The rules with the most approvals first. */
  suggestions: v.array(
    v.object({
      tool: v.string(),
      server: v.optional(v.string()),
      instance: named,
      /** Approvals of exactly this call by people. */
      approvals: v.number(),
      /** Questions that the rule would have answered. */
      answered: v.number(),
      /** All questions about this tool of this instance. */
      questions: v.number(),
      /** YAML of the rule. */
      rule: v.string(),
      /** The active policy with the rule. */
      source: v.string(),
    }),
  ),
  /** The active version; 0 for none. */
  base_number: v.number(),
  looked_at: v.number(),
  /** False when older requests of the last 30 days exist. */
  complete: v.boolean(),
});

export type RuleSuggestions = v.InferOutput<typeof ruleSuggestions>;
export type PolicyOutline = v.InferOutput<typeof policyOutline>;
export type ShownPolicy = v.InferOutput<typeof shownPolicy>;
export type PublishedPolicy = v.InferOutput<typeof publishedPolicy>;
export type PolicyCheck = v.InferOutput<typeof policyCheck>;
export type PolicyTest = v.InferOutput<typeof policyTest>;
export type ProposalOutline = v.InferOutput<typeof proposalOutline>;
export type PolicyProposal = v.InferOutput<typeof policyProposal>;
export type SimulatedChange = v.InferOutput<typeof simulatedChange>;
export type SimulationSummary = v.InferOutput<typeof simulationSummary>;
export type SimulationEvent = v.InferOutput<typeof simulationEvent>;
