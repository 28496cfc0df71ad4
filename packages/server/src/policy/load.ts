/** Parses a policy file: checks and compiles it once, and reports every fault with its location. */

import { createHash } from "node:crypto";
import type { ProblemFinding } from "@countersign/protocol";
import { POLICY_KEYS } from "@countersign/review-api/policy-text";
import { HISTORY_WINDOWS_MAX } from "./history.ts";
import { PolicyDocument, type YamlLocation } from "./policy-document.ts";
import { readRule } from "./read-rule.ts";
import { readTest } from "./read-test.ts";
import { readRenderer } from "./renderers.ts";
import type { LoadOptions, Policy, PolicyTest, Renderer, Rule } from "./rule.ts";
import { findUnreachable } from "./unreachable.ts";

export const POLICY_BYTES_MAX = 256 * 1024;
export const POLICY_RULES_MAX = 1000;
export const POLICY_TESTS_MAX = 1000;

export const POLICY_RENDERERS_MAX = 200;

/** The file is not a valid policy. */
export class PolicyError extends Error {
  /** In the order of the file; 1 to 200. */
  readonly findings: readonly ProblemFinding[];

  constructor(findings: readonly ProblemFinding[]) {
    const [first] = findings;
    const where = first === undefined ? "" : ` line ${first.line}: ${first.message}`;
    super(`the policy has ${findings.length} faults;${where}`);
    this.name = "PolicyError";
    this.findings = findings;
  }
}

/**
 * @param source YAML 1.2
 * @throws PolicyError with all findings
 */
export function loadPolicy(source: string, options: LoadOptions): Policy {
  if (Buffer.byteLength(source) > POLICY_BYTES_MAX) {
    const message = `a policy has at most ${POLICY_BYTES_MAX / 1024} KiB`;
    throw new PolicyError([{ line: 1, column: 1, path: "", message }]);
  }
  const document = new PolicyDocument(source);
  // Invalid YAML has no locations.
  if (document.findings.length > 0) throw new PolicyError(document.findings);
  const members = document.map(document.root, POLICY_KEYS[""], ["version", "rules"]);
  checkVersion(document, members?.get("version"));
  const twoPerson = members?.get("two_person");
  const isTwoPerson = twoPerson !== undefined && document.bool(twoPerson) === true;
  const ruleLocations = itemsOf(document, members?.get("rules"), POLICY_RULES_MAX, "rules");
  const rules = readRules(document, ruleLocations, options);
  const renderers = readRenderers(document, members?.get("renderers"), options);
  const testLocations = itemsOf(document, members?.get("tests"), POLICY_TESTS_MAX, "tests");
  const tests = readTests(document, testLocations, rules);
  if (document.findings.length > 0) throw new PolicyError(inOrder(document.findings));
  for (const { rule, reason } of findUnreachable(rules)) {
    const location = ruleLocations[rules.indexOf(rule)];
    if (location !== undefined) document.warn(location, reason);
  }
  if (tests.length === 0 && rules.length > 0) {
    document.warn(document.root, "the policy has no tests");
  }
  return Object.freeze({
    sha256: createHash("sha256").update(source).digest("hex"),
    source,
    isTwoPerson,
    rules,
    renderers,
    tests,
    warnings: document.warnings,
  });
}

function checkVersion(document: PolicyDocument, location: YamlLocation | undefined): void {
  if (location === undefined) return;
  if (document.scalar(location)?.value !== 1) document.add(location, "version must be 1");
}

function itemsOf(
  document: PolicyDocument,
  location: YamlLocation | undefined,
  max: number,
  what: string,
): readonly YamlLocation[] {
  if (location === undefined) return [];
  const items = document.list(location) ?? [];
  if (items.length <= max) return items;
  document.add(location, `a policy has at most ${max} ${what}`);
  return items.slice(0, max);
}

function readRules(
  document: PolicyDocument,
  locations: readonly YamlLocation[],
  options: LoadOptions,
): readonly Rule[] {
  const rules: Rule[] = [];
  const lines = new Map<string, number>();
  const windows = new Set<number>();
  let hasTooMany = false;
  for (const location of locations) {
    const rule = readRule(document, location, options);
    if (rule === undefined) continue;
    const line = lines.get(rule.id);
    if (line !== undefined) {
      document.add(location, `duplicate id \`${rule.id}\`: see the rule on line ${line}, too`);
    }
    lines.set(rule.id, rule.line);
    rules.push(rule);
    if (rule.when?.expression.kind === "literal") {
      document.warn(location, "the condition is the same for every call");
    }
    for (const { windowMs } of rule.history) windows.add(windowMs);
    if (windows.size <= HISTORY_WINDOWS_MAX || hasTooMany) continue;
    hasTooMany = true;
    document.add(
      location,
      `a policy has at most ${HISTORY_WINDOWS_MAX} different times of history`,
    );
  }
  return rules;
}

function readRenderers(
  document: PolicyDocument,
  location: YamlLocation | undefined,
  { kind }: LoadOptions,
): readonly Renderer[] {
  if (location !== undefined && kind === "floor") {
    document.add(location, "renderers belong to the policy of a project");
  }
  const items = itemsOf(document, location, POLICY_RENDERERS_MAX, "renderers");
  return items.flatMap((item) => readRenderer(document, item) ?? []);
}

function readTests(
  document: PolicyDocument,
  locations: readonly YamlLocation[],
  rules: readonly Rule[],
): readonly PolicyTest[] {
  const known = {
    ids: new Set(rules.map(({ id }) => id)),
    history: rules.flatMap(({ history }) => history),
  };
  const tests: PolicyTest[] = [];
  for (const [index, location] of locations.entries()) {
    const test = readTest(document, location, index, known);
    if (test !== undefined) tests.push(test);
  }
  return tests;
}

function inOrder(findings: readonly ProblemFinding[]): readonly ProblemFinding[] {
  return [...findings].sort((a, b) => a.line - b.line || a.column - b.column);
}
