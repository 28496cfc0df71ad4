/**
 * Policies: the policy of a project at `/policy`, and the baseline policy of the whole server at
 * `/floor`. Both have the same operations.
 */

import * as v from "valibot";
import { operation } from "./operation.ts";
import { policyUsage } from "./policy-rules.ts";
import {
  type PolicyPath,
  policyCheck,
  policyDraft,
  policyNote,
  policyNumber,
  policyOutline,
  policyProposal,
  policySource,
  proposalOutline,
  publishedPolicy,
  ruleSuggestions,
  shownPolicy,
  simulationEvent,
  simulationOrder,
} from "./policy-shapes.ts";
import { body, cursor, limitParameter, page, wordParameter } from "./schema.ts";

/** The names of the two policies in summaries. */
const NAMES = { policy: "project policy", floor: "baseline policy" } as const;

const PUBLISHING_ERRORS = ["forbidden", "policy_conflict", "policy_invalid"] as const;

/** The number of the last version of the page before. */
const versionParameter = v.optional(
  v.pipe(
    v.string("must be given once"),
    v.regex(/^[1-9]\d{0,14}$/, "must be the value of next in an earlier answer"),
    v.transform(Number),
  ),
);

function versionRows<Scope extends PolicyPath>(scope: Scope, power: "publish" | "server") {
  return {
    show: operation({
      method: "GET",
      path: `/${scope}`,
      summary: `Show the active ${NAMES[scope]}.`,
      caller: "reviewer",
      power: "read",
      answers: { 200: shownPolicy },
      errors: [],
    }),

    versions: operation({
      method: "GET",
      path: `/${scope}/versions`,
      summary: `List versions of the ${NAMES[scope]}, the latest first.`,
      caller: "reviewer",
      power: "read",
      query: v.strictObject({ limit: limitParameter, after: versionParameter }),
      answers: {
        200: v.object({ versions: v.array(policyOutline), next: v.nullable(v.number()) }),
      },
      errors: [],
    }),

    version: operation({
      method: "GET",
      path: `/${scope}/versions/{number}`,
      summary: `Show a version of the ${NAMES[scope]}.`,
      caller: "reviewer",
      power: "read",
      answers: { 200: shownPolicy },
      errors: ["not_found"],
    }),

    publish: operation({
      method: "POST",
      path: `/${scope}`,
      summary: `Publish a ${NAMES[scope]}.`,
      caller: "reviewer",
      power,
      body: body({ source: policySource, expected_number: policyNumber(0), note: policyNote }),
      /** 200 when this very policy is active already. */
      answers: { 200: publishedPolicy, 201: publishedPolicy },
      errors: PUBLISHING_ERRORS,
    }),

    rollback: operation({
      method: "POST",
      path: `/${scope}/rollback`,
      summary: `Publish an older version of the ${NAMES[scope]}.`,
      caller: "reviewer",
      power,
      body: body({
        number: policyNumber(1),
        expected_number: policyNumber(0),
        note: policyNote,
      }),
      answers: { 200: publishedPolicy, 201: publishedPolicy },
      errors: [...PUBLISHING_ERRORS, "not_found"],
    }),
  };
}

function draftRows<Scope extends PolicyPath>(scope: Scope, power: "publish" | "server") {
  return {
    check: operation({
      method: "POST",
      path: `/${scope}/check`,
      summary: `Check a ${NAMES[scope]} without publishing it.`,
      caller: "reviewer",
      power: power === "server" ? power : "read",
      body: policyDraft,
      answers: { 200: policyCheck },
      errors: ["forbidden"],
    }),

    simulate: operation({
      method: "POST",
      path: `/${scope}/simulate`,
      summary: `Evaluate a ${NAMES[scope]} against past requests.`,
      caller: "reviewer",
      power,
      body: simulationOrder,
      answers: { 200: { stream: "application/x-ndjson", line: simulationEvent } },
      errors: ["forbidden", "policy_invalid"],
    }),
  };
}

function proposalRows<Scope extends PolicyPath>(scope: Scope, power: "publish" | "server") {
  return {
    proposals: operation({
      method: "GET",
      path: `/${scope}/proposals`,
      summary: `List proposals for the ${NAMES[scope]}, the latest first.`,
      caller: "reviewer",
      power: "read",
      query: v.strictObject({
        state: v.optional(wordParameter(["open", "closed"]), "open"),
        ...page,
      }),
      answers: { 200: v.object({ proposals: v.array(proposalOutline), next: cursor }) },
      errors: [],
    }),

    proposal: operation({
      method: "GET",
      path: `/${scope}/proposals/{id}`,
      summary: `Show a proposal for the ${NAMES[scope]}.`,
      caller: "reviewer",
      power: "read",
      answers: { 200: policyProposal },
      errors: ["not_found"],
    }),

    propose: operation({
      method: "POST",
      path: `/${scope}/proposals`,
      summary: `Propose a ${NAMES[scope]} for another user to publish.`,
      caller: "reviewer",
      power,
      body: body({
        source: v.optional(policySource),
        /** The number of an older version, instead of `source`. */
        restores: v.optional(policyNumber(1)),
        expected_number: policyNumber(0),
        note: policyNote,
      }),
      /** 200 when the caller has proposed this very policy already. */
      answers: { 200: policyProposal, 201: policyProposal },
      errors: [...PUBLISHING_ERRORS, "not_found"],
    }),

    publishProposal: operation({
      method: "POST",
      path: `/${scope}/proposals/{id}/publish`,
      summary: `Publish a proposal for the ${NAMES[scope]}.`,
      caller: "reviewer",
      power,
      answers: { 200: publishedPolicy, 201: publishedPolicy },
      errors: [...PUBLISHING_ERRORS, "not_found"],
    }),

    rejectProposal: operation({
      method: "POST",
      path: `/${scope}/proposals/{id}/reject`,
      summary: `Reject a proposal for the ${NAMES[scope]}.`,
      caller: "reviewer",
      power,
      body: body({ note: policyNote }),
      answers: { 200: policyProposal },
      errors: ["forbidden", "not_found", "policy_conflict"],
    }),
  };
}

function rowsOf<Scope extends PolicyPath>(scope: Scope, power: "publish" | "server") {
  return {
    ...versionRows(scope, power),
    ...draftRows(scope, power),
    ...proposalRows(scope, power),
  };
}

const project = rowsOf("policy", "publish");
const floor = rowsOf("floor", "server");

/** The operations of one scope, by short names. */
export type PolicyRows = typeof project;

const usage = operation({
  method: "GET",
  path: "/policy/usage",
  summary: "Count the calls that each rule matched, and list names for rules.",
  caller: "reviewer",
  power: "read",
  answers: { 200: policyUsage },
  errors: [],
});

export const policy = {
  showPolicyUsage: usage,
  showPolicy: project.show,
  listPolicyVersions: project.versions,
  showPolicyVersion: project.version,
  publishPolicy: project.publish,
  rollbackPolicy: project.rollback,
  checkPolicy: project.check,
  simulatePolicy: project.simulate,
  suggestRules: operation({
    method: "GET",
    path: "/policy/suggestions",
    summary: "Suggest rules that would have answered questions to people.",
    caller: "reviewer",
    power: "publish",
    answers: { 200: ruleSuggestions },
    errors: ["forbidden", "policy_invalid"],
  }),
  listPolicyProposals: project.proposals,
  showPolicyProposal: project.proposal,
  proposePolicy: project.propose,
  publishPolicyProposal: project.publishProposal,
  rejectPolicyProposal: project.rejectProposal,
  showFloor: floor.show,
  listFloorVersions: floor.versions,
  showFloorVersion: floor.version,
  publishFloor: floor.publish,
  rollbackFloor: floor.rollback,
  checkFloor: floor.check,
  simulateFloor: floor.simulate,
  listFloorProposals: floor.proposals,
  showFloorProposal: floor.proposal,
  proposeFloor: floor.propose,
  publishFloorProposal: floor.publishProposal,
  rejectFloorProposal: floor.rejectProposal,
};
