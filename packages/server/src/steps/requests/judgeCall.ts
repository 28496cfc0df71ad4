/** Evaluates the active policies for a call. */

import { type CreateApprovalRequestInput, parseJson } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { readableContext } from "../../core/authzen-scope.ts";
import type { StoredInstance } from "../../core/instance.ts";
import type { IntendedDecision } from "../../core/request.ts";
import { evaluatePolicies, historyQueriesOf } from "../../policy/evaluate.ts";
import type { CallHistory, HistoryQuery } from "../../policy/history.ts";
import { type Judgement, UNJUDGED, type VersionRef } from "../../policy/judgement.ts";
import type { CachedPolicy } from "../../policy/policy-cache.ts";
import type { Call, Evaluation, Policy } from "../../policy/rule.ts";
import type { ToolName } from "../../policy/tool-names.ts";
import { SERVER } from "../../storage/sql/keys.ts";
import type { ActiveState } from "../../storage/sql/policy/active-state.ts";
import { PolicyNotLoaded } from "../policy/cachePolicy.ts";

/** The judgement of a call, and the decision if it is immediate. */
export interface Judged {
  readonly call: Call;
  readonly judgement: Judgement;
  /** Undefined when reviewers decide. */
  readonly ending: IntendedDecision | undefined;
}

/**
 * The history queries of the active policies for a tool, which must be counted first.
 *
 * @throws PolicyNotLoaded
 */
export function neededHistory(
  context: Pick<Context, "policies">,
  projectId: string,
  active: ActiveState,
  tool: ToolName,
): readonly HistoryQuery[] {
  const project = findPolicy(context, projectId, active.project)?.policy;
  const floor = findPolicy(context, SERVER, active.floor)?.policy;
  return historyQueriesOf({ project, floor }, tool);
}

/**
 * Evaluates the active policies for a call. A policy that cannot be read or a rule that fails
 * results in `ask`; a failure never approves.
 *
 * @param history the counted {@link neededHistory}
 * @throws PolicyNotLoaded when a policy must be loaded first, outside of any transaction
 */
export function judgeCall(
  context: Pick<Context, "policies" | "settings">,
  instance: StoredInstance,
  active: ActiveState,
  input: Pick<CreateApprovalRequestInput, "tool" | "server" | "arguments" | "context">,
  now: number,
  history: CallHistory | undefined,
): Judged {
  const call: Call = {
    tool: input.tool,
    server: input.server,
    args: input.arguments,
    context: readableContext(input.context),
    instance: {
      id: instance.id,
      name: parseJson(instance.name) as string,
      groups: instance.groups,
    },
    now,
    history,
  };
  const project = findPolicy(context, instance.projectId, active.project);
  const floor = findPolicy(context, SERVER, active.floor);
  const versions = { project: project?.ref ?? null, floor: floor?.ref ?? null };
  const unreadable = [project, floor].flatMap((found) => found?.unreadable ?? []);
  const evaluation = withUnreadablePolicies(
    unreadable,
    evaluatePolicies({ project: project?.policy, floor: floor?.policy }, call),
  );
  const { verb, because, fired, errors, note, validityMs, requirement } = evaluation;
  if (because === UNJUDGED.because) return { call, judgement: UNJUDGED, ending: undefined };
  const judgement: Judgement = {
    verb,
    because,
    fired,
    errors,
    ...versions,
    ...(verb === "ask" && {
      requirement,
      ...(note !== undefined && { note }),
      ...(validityMs !== undefined && { validityMs }),
    }),
  };
  return { call, judgement, ending: toEnding(context, judgement, note, validityMs) };
}

/**
 * The judgement when a policy cannot be read. The other policy's denials and requirements stay
 * valid, so a broken project policy does not weaken the baseline policy. Nothing is approved.
 */
function withUnreadablePolicies(unreadable: readonly string[], evaluation: Evaluation): Evaluation {
  if (unreadable.length === 0) return evaluation;
  const readErrors = unreadable.map((message) => ({ rule: "", message }));
  const errors = [...readErrors, ...evaluation.errors];
  switch (evaluation.verb) {
    case "deny":
      return { ...evaluation, errors };
    case "ask":
      return { ...evaluation, because: "error", errors };
    case "approve":
      return { ...evaluation, verb: "ask", because: "error", errors, note: undefined };
  }
}

interface Found {
  readonly ref: VersionRef;
  readonly policy: Policy | undefined;
  readonly unreadable: string | undefined;
}

/** @throws PolicyNotLoaded */
function findPolicy(
  { policies }: Pick<Context, "policies">,
  projectId: string,
  ref: VersionRef | null,
): Found | undefined {
  if (ref === null) return undefined;
  const kind = projectId === SERVER ? "floor" : "project";
  const known = policies.find(kind, ref.sha256);
  if (known === undefined) throw new PolicyNotLoaded(kind, projectId, ref);
  return toFound(known, ref);
}

function toFound(cached: CachedPolicy, { number, sha256 }: VersionRef): Found {
  const ref = { number, sha256 };
  if (cached.kind === "policy") return { ref, policy: cached.policy, unreadable: undefined };
  return { ref, policy: undefined, unreadable: cached.message.slice(0, 300) };
}

function toEnding(
  { settings }: Pick<Context, "settings">,
  { verb, because }: Judgement,
  note: string | undefined,
  validityMs: number = settings.validityMsDefault,
): IntendedDecision | undefined {
  const by = `policy:${because}` as const;
  const noteText = note === undefined ? null : JSON.stringify(note);
  switch (verb) {
    case "ask":
      return undefined;
    case "deny":
      return { status: "denied", by, note: noteText };
    case "approve": {
      const { validityMsMin, validityMsMax } = settings;
      const bounded = Math.min(Math.max(validityMs, validityMsMin), validityMsMax);
      return { status: "approved", by, note: noteText, validityMs: bounded };
    }
  }
}
