/**
 * Candidates for approve rules: calls with the same tool, instance and arguments that people always
 * approved. Pure. A simulation checks each candidate before a reviewer sees it.
 */

import {
  JsonArray,
  JsonNumber,
  JsonObject,
  type JsonValue,
  parseJson,
} from "@countersign/protocol";
import { escapeGlob } from "@countersign/review-api/policy-text";
import { sha256Hex } from "../../core/digest.ts";
import type { StoredRequest } from "../../core/request.ts";
import { initialRequirementOf, readJudgement } from "../../policy/judgement.ts";
import { TOOL_CHANGE } from "../../policy/tool-change.ts";

/** Approvals by people that a candidate needs. */
export const APPROVALS_MIN = 5;

const CONDITION_CHARS_MAX = 2_000;

export interface RuleCandidate {
  readonly instanceId: string;
  readonly tool: string;
  readonly server: string | undefined;
  readonly approvals: number;
  /** All questions about this tool of this instance. */
  readonly questions: number;
  /** Lines of YAML without indentation. */
  readonly rule: readonly string[];
}

interface Group {
  readonly first: StoredRequest;
  approvals: number;
}

/** @returns the candidates with the most approvals first */
export function findCandidates(requests: readonly StoredRequest[]): readonly RuleCandidate[] {
  const groups = new Map<string, Group>();
  const questions = new Map<string, number>();
  const excluded = new Set<string>();
  for (const request of requests) {
    const call = keyOf(request.tool, request.server, request.arguments);
    const isQuestion = readJudgement(request.policy).verb === "ask";
    if (request.decision?.status === "denied" || (isQuestion && !isSimple(request))) {
      excluded.add(call);
    }
    if (!isQuestion) continue;
    const tool = keyOf(request.instanceId, request.tool, request.server);
    questions.set(tool, (questions.get(tool) ?? 0) + 1);
    if (!isApprovedByPeople(request)) continue;
    const key = keyOf(request.instanceId, call);
    const group = groups.get(key) ?? { first: request, approvals: 0 };
    group.approvals++;
    groups.set(key, group);
  }
  return Array.from(groups.values())
    .filter(({ approvals }) => approvals >= APPROVALS_MIN)
    .filter(({ first }) => !excluded.has(keyOf(first.tool, first.server, first.arguments)))
    .sort((a, b) => b.approvals - a.approvals || (a.first.id < b.first.id ? -1 : 1))
    .flatMap(({ first, approvals }) => {
      const tool = keyOf(first.instanceId, first.tool, first.server);
      return toCandidate(first, approvals, questions.get(tool) ?? approvals) ?? [];
    });
}

function keyOf(...parts: readonly (string | null)[]): string {
  return JSON.stringify(parts);
}

function isApprovedByPeople({ decision }: StoredRequest): boolean {
  return decision?.status === "approved" && decision.decidedBy.startsWith("reviewer:");
}

/** True when one person decides by a click, and the definition of the tool has not changed. */
function isSimple({ policy, context }: StoredRequest): boolean {
  const judgement = readJudgement(policy);
  const { quorum, confirm } = initialRequirementOf(judgement);
  if (quorum > 1 || confirm.kind !== "click") return false;
  if (judgement.errors.length > 0 || judgement.because === TOOL_CHANGE) return false;
  const reported = context === null ? undefined : parseJson(context);
  return !(reported instanceof JsonObject && reported.members.has(TOOL_CHANGE));
}

function toCandidate(
  { instanceId, tool: toolText, server: serverText, arguments: args }: StoredRequest,
  approvals: number,
  questions: number,
): RuleCandidate | undefined {
  const literal = literalOf(parseJson(args));
  if (literal === undefined || literal.length > CONDITION_CHARS_MAX) return undefined;
  const tool = JSON.parse(toolText) as string;
  const server = serverText === null ? undefined : (JSON.parse(serverText) as string);
  const id = `suggested-${sha256Hex(keyOf(instanceId, toolText, serverText, args)).slice(0, 12)}`;
  const rule = [
    `- id: ${id}`,
    "  match:",
    `    tool: ${quote(escapeGlob(tool))}`,
    ...(server === undefined ? [] : [`    server: ${quote(escapeGlob(server))}`]),
    `    instance: { id: ${instanceId} }`,
    `  when: ${quote(`args == ${literal}`)}`,
    "  then: approve",
  ];
  return { instanceId, tool, server, approvals, questions, rule };
}

/** A text of JSON is a text of YAML too. */
function quote(text: string): string {
  return JSON.stringify(text);
}

/** A literal of a condition; undefined for numbers other than short whole ones. */
function literalOf(value: JsonValue): string | undefined {
  if (value instanceof JsonNumber) {
    return /^(0|-?[1-9]\d{0,14})$/.test(value.source) ? value.source : undefined;
  }
  if (value instanceof JsonArray) return joined("[", value.items.map(literalOf), "]");
  if (value instanceof JsonObject) {
    const members = Array.from(value.members, ([name, member]) => {
      const literal = literalOf(member);
      return literal === undefined ? undefined : `${quote(name)}: ${literal}`;
    });
    return joined("{", members, "}");
  }
  if (typeof value === "string" && !value.isWellFormed()) return undefined;
  return JSON.stringify(value);
}

function joined(
  open: string,
  parts: readonly (string | undefined)[],
  close: string,
): string | undefined {
  if (parts.includes(undefined)) return undefined;
  return open + parts.join(", ") + close;
}
