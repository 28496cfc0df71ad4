import { Problem } from "@countersign/protocol";
import { addToPolicy } from "@countersign/review-api/policy-text";
import type { Context } from "../../context.ts";
import type { JsonText, StoredRequest } from "../../core/request.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { assertMayPublish } from "../../identity/policy-authority.ts";
import { TOOL_CHANGE } from "../../policy/tool-change.ts";
import { findCandidates, type RuleCandidate } from "../../steps/policy/findCandidates.ts";
import { readPastRequests } from "../../steps/policy/readPastRequests.ts";
import { readInstances } from "../../storage/sql/instances/instances.ts";
import { readPolicyNumber, readPolicyVersion } from "../../storage/sql/policy/policy-versions.ts";
import { type SimulationEvent, simulatePolicy } from "./simulatePolicy.ts";

const DAY_MS = 24 * 3_600_000;
const SUGGESTIONS = { sinceMs: 30 * DAY_MS, requestsMax: 3_000, candidatesMax: 5 };

export interface RuleSuggestion extends RuleCandidate {
  /** JSON text. */
  readonly instanceName: JsonText;
  /** Questions that the rule would have answered. */
  readonly answered: number;
  /** The active policy with the rule. */
  readonly source: string;
}

export interface RuleSuggestions {
  readonly suggestions: readonly RuleSuggestion[];
  /** Number of the active version; 0: none. */
  readonly baseNumber: number;
  readonly scannedCount: number;
  /** False when older requests of the last 30 days exist. */
  readonly isComplete: boolean;
}

/**
 * Approve rules that would have answered questions to people, each checked by a simulation over the
 * same requests. A rule that would approve a denied call, or change anything else, is left out.
 *
 * @throws Problem `forbidden`; the reason of the signal
 */
export async function suggestRules(
  context: Context,
  caller: ReviewerCaller,
  signal: AbortSignal,
): Promise<RuleSuggestions> {
  assertMayPublish(caller, "project");
  // The answer contains calls.
  assertMay(caller, "read");
  const { store, clock } = context;
  const { projectId } = caller;
  const until = clock.now() + 1;
  const since = Math.max(0, until - SUGGESTIONS.sinceMs);
  const { requests, isComplete } = await readLatest(context, projectId, { since, until, signal });
  const baseNumber = await readPolicyNumber(store, projectId);
  const active = await readPolicyVersion(store, projectId, baseNumber);
  const candidates = findCandidates(requests).slice(0, SUGGESTIONS.candidatesMax);
  const ids = [...new Set(candidates.map(({ instanceId }) => instanceId))];
  const instances = await readInstances(store, projectId, ids);
  const suggestions: RuleSuggestion[] = [];
  for (const candidate of candidates) {
    const source = addToPolicy(active?.source, candidate);
    if (source === undefined) continue;
    const { instanceId } = candidate;
    const range = { since, until, instanceId, limit: SUGGESTIONS.requestsMax };
    const answered = await countAnswered(context, caller, { source, ...range, signal });
    const instanceName = instances.get(instanceId)?.name ?? '""';
    if (answered > 0) suggestions.push({ ...candidate, instanceName, answered, source });
  }
  return { suggestions, baseNumber, scannedCount: requests.length, isComplete };
}

interface Range {
  readonly since: number;
  readonly until: number;
  readonly signal: AbortSignal;
}

async function readLatest(
  { store }: Pick<Context, "store">,
  projectId: string,
  { signal, ...period }: Range,
): Promise<{ readonly requests: readonly StoredRequest[]; readonly isComplete: boolean }> {
  const requests: StoredRequest[] = [];
  const scope = { projectId, ...period, max: SUGGESTIONS.requestsMax };
  const keep = (request: StoredRequest) => void requests.push(shortened(request));
  const isComplete = await readPastRequests(store, scope, signal, keep);
  return { requests, isComplete };
}

/** Long arguments cannot become a condition. */
const ARGUMENTS_CHARS_MAX = 2_000;
const CONTEXT_CHARS_MAX = 16_000;

/** Excludes the call, as a changed tool does. */
const EXCLUDED = JSON.stringify({ [TOOL_CHANGE]: true });

/** Keeps the memory small. A call with long arguments or a long context leads to no candidate. */
function shortened(request: StoredRequest): StoredRequest {
  const { id, arguments: args, context } = request;
  const isLong = args.length > ARGUMENTS_CHARS_MAX;
  return {
    ...request,
    arguments: isLong ? JSON.stringify({ id, long: 0.5 }) : args,
    context: (context?.length ?? 0) > CONTEXT_CHARS_MAX ? EXCLUDED : context,
    agentReasoning: null,
  };
}

interface Trial extends Range {
  readonly source: string;
  readonly instanceId: string;
  readonly limit: number;
}

/** @returns 0 when the rule would do anything except answer questions that were not denied */
async function countAnswered(
  context: Context,
  caller: ReviewerCaller,
  { signal, ...range }: Trial,
): Promise<number> {
  let answered = 0;
  let isUnsafe = false;
  const order = { ...range, scope: "project", examples: range.limit } as const;
  const emit = async (event: SimulationEvent) => {
    if (event.kind === "ended") isUnsafe ||= event.summary.errors > 0;
    if (event.kind !== "changed") return;
    const { was, draft, request } = event.change;
    if (was !== "ask" || draft.verb !== "approve") isUnsafe = true;
    if (request.decision?.status === "denied") isUnsafe = true;
    answered++;
  };
  try {
    await simulatePolicy(context, caller, order, { emit, signal });
  } catch (error) {
    // The rule does not fit into the active policy.
    if (error instanceof Problem && error.code === "policy_invalid") return 0;
    throw error;
  }
  return isUnsafe ? 0 : answered;
}
