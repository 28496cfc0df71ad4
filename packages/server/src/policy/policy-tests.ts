/** Runs the tests of a policy file. */

import { formatDuration } from "@countersign/protocol";
import { evaluatePolicies } from "./evaluate.ts";
import type { Place } from "./place.ts";
import { acceptsBotApprovals } from "./requirement.ts";
import type {
  ConfirmationKind,
  EscalationStep,
  Evaluation,
  ExpectedAsk,
  Policy,
  PolicyTest,
  Requirement,
} from "./rule.ts";

export interface TestOutcome {
  /** From 0. */
  readonly index: number;
  readonly name: string | undefined;
  /** From 1. */
  readonly line: number;
  readonly passed: boolean;
  /** The expectation, for people: `approve because small-refunds`. */
  readonly expected: string;
  /** The result, limited to the parts that the test compares. */
  readonly got: string;
}

/** In the order of the file. Evaluates the policy without the baseline policy. */
export function runPolicyTests(policy: Policy): readonly TestOutcome[] {
  return policy.tests.map((test) => runTest(policy, test));
}

function runTest(policy: Policy, { index, name, line, given, expect }: PolicyTest): TestOutcome {
  const evaluation = evaluatePolicies({ project: policy }, given);
  const compared: [string, string][] = [[expect.verb, evaluation.verb]];
  if (expect.because !== undefined) {
    compared.push([`because ${expect.because}`, `because ${evaluation.because}`]);
  }
  if (expect.validityMs !== undefined) {
    compared.push([validity(expect.validityMs), validity(evaluation.validityMs)]);
  }
  if (expect.ask !== undefined) compared.push(...askCompared(expect.ask, evaluation));
  const expected = compared.map(([wanted]) => wanted).join(", ");
  const got = compared.map(([, found]) => found).join(", ");
  const errors = evaluation.errors.map(({ rule, message }) => `${rule}: ${message}`);
  const passed = expected === got;
  const why = passed || errors.length === 0 ? "" : ` (${errors.join("; ")})`;
  return { index, name, line, passed, expected, got: got + why };
}

function validity(ms: number | undefined): string {
  return `valid_for ${duration(ms)}`;
}

function duration(ms: number | null | undefined): string {
  return ms === undefined || ms === null ? "not set" : formatDuration(ms);
}

function askCompared(ask: ExpectedAsk, evaluation: Evaluation): [string, string][] {
  const { requirement } = evaluation;
  const { from, quorum, excludeOwner, confirm, noteRequired, withinMs, grants, bots } = ask;
  const { channels, escalate } = ask;
  const compared: [string, string][] = [];
  const add = (name: string, wanted: string | undefined, found: string): void => {
    if (wanted !== undefined) compared.push([`${name} ${wanted}`, `${name} ${found}`]);
  };
  add("from", from === undefined ? undefined : sets(from), sets(requirement.from));
  add("quorum", quorum?.toString(), requirement.quorum.toString());
  add("exclude owner", excludeOwner?.toString(), requirement.excludeOwner.toString());
  // `type` alone matches any text.
  const found = confirm === "type" ? requirement.confirm.kind : confirmText(requirement.confirm);
  add("confirm", confirm, found);
  add("note required", noteRequired?.toString(), requirement.noteRequired.toString());
  const within = withinMs === undefined ? undefined : duration(withinMs);
  add("within", within, duration(requirement.withinMs));
  add("grants", grants?.toString(), requirement.grants.toString());
  add("bots", bots?.toString(), acceptsBotApprovals(evaluation).toString());
  add("channels", channels && placesText(channels), placesText(requirement.channels));
  const steps = escalate === undefined ? undefined : stepsText(escalate);
  add("escalate", steps, stepsText(requirement.escalate ?? []));
  return compared;
}

/** Sorted, so that two spellings of the same sets are equal. */
function sets(from: Requirement["from"]): string {
  const texts = from.map((set) => `[${[...new Set(set)].sort().join(", ")}]`);
  return texts.length === 0 ? "any reviewer" : [...new Set(texts)].sort().join(" and ");
}

function placesText(places: readonly Place[] | undefined): string {
  return places === undefined ? "everywhere" : [...places].sort().join(", ");
}

/** By time, so that two orders of the same steps are equal. */
function stepsText(steps: readonly EscalationStep[]): string {
  const sorted = [...steps].sort((a, b) => a.afterMs - b.afterMs || (a.to < b.to ? -1 : 1));
  const texts = sorted.map(({ afterMs, to }) => `${to} after ${formatDuration(afterMs)}`);
  return texts.length === 0 ? "to no group" : `to ${texts.join(", ")}`;
}

function confirmText(confirm: ConfirmationKind): string {
  return confirm.kind === "type" ? `type(${confirm.text})` : confirm.kind;
}
