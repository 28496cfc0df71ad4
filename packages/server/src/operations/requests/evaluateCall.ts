import { JsonObject, Problem, parseIdentifier } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { type AuthzenQuestion, contextOf } from "../../core/authzen.ts";
import type { ApprovalCheck, CallEvaluation } from "../../core/authzen-answer.ts";
import { isInScope } from "../../core/authzen-scope.ts";
import type { StoredInstance } from "../../core/instance.ts";
import type { InstanceCaller } from "../../identity/caller.ts";
import { isCertain, requirementOf } from "../../policy/judgement.ts";
import { findGrant } from "../../steps/grants/useGrant.ts";
import { cachePolicy, PolicyNotLoaded } from "../../steps/policy/cachePolicy.ts";
import { countHistory } from "../../steps/policy/countHistory.ts";
import { findActiveState } from "../../steps/policy/findActiveState.ts";
import { type Judged, judgeCall, neededHistory } from "../../steps/requests/judgeCall.ts";
import { readInstances } from "../../storage/sql/instances/instances.ts";
import type { ActiveState } from "../../storage/sql/policy/active-state.ts";
import { readConsumption } from "../../storage/sql/requests/consumptions.ts";
import { readRequestOfInstance } from "../../storage/sql/requests/requests.ts";

/**
 * Evaluates the policies, freezes and grants for a call without creating a request. It writes
 * nothing: it has no row, no audit entry, no count of calls and no use of a grant. The answer is a
 * forecast, because any of these may change before the call is submitted.
 *
 * @throws Problem `invalid_credential` when the instance was deleted meanwhile, or `rate_limited`
 * @see docs/decisions/0050-authzen.md
 */
export async function evaluateCall(
  context: Context,
  caller: InstanceCaller,
  question: AuthzenQuestion,
): Promise<CallEvaluation> {
  const now = context.clock.now();
  // Read through the store, which cannot write.
  const { store } = context;
  const [instances, active, approval] = await Promise.all([
    readInstances(store, caller.projectId, [caller.instanceId]),
    findActiveState(store, context, caller),
    checkApproval(context, caller, question, now),
  ]);
  const instance = instances.get(caller.instanceId);
  if (instance === undefined || instance.deletedAt !== null) {
    throw new Problem("invalid_credential");
  }
  context.submissions.takeOrRefuse(instance.provisionerId);
  const judged = await judge(context, instance, active, question, now);
  return { ...(await conclude(context, instance, active, judged)), approval, at: now };
}

/** Loads a policy and retries if it is not cached yet. */
async function judge(
  context: Context,
  instance: StoredInstance,
  active: ActiveState,
  question: AuthzenQuestion,
  now: number,
): Promise<Judged> {
  const { id: instanceId, projectId } = instance;
  const input = {
    tool: question.tool,
    server: undefined,
    arguments: question.arguments,
    context: contextOf(question),
  };
  for (;;) {
    try {
      const queries = neededHistory(context, projectId, active, input);
      const subject = { projectId, instanceId, name: input, at: now };
      const history =
        queries.length === 0
          ? undefined
          : await countHistory(context.store, context, subject, queries);
      return judgeCall(context, instance, active, input, now, history);
    } catch (error) {
      if (!(error instanceof PolicyNotLoaded)) throw error;
      await cachePolicy(context, error);
    }
  }
}

type Conclusion = Pick<CallEvaluation, "outcome" | "because" | "note">;

async function conclude(
  { store }: Context,
  instance: StoredInstance,
  active: ActiveState,
  { call, judgement, ending }: Judged,
): Promise<Conclusion> {
  const { because } = judgement;
  if (active.isFrozen) return { outcome: "frozen", because: "freeze", note: undefined };
  if (ending !== undefined) {
    const outcome = ending.status === "approved" ? "approve" : "deny";
    return { outcome, because, note: noteOf(ending) };
  }
  if (!active.hasGrants) return { outcome: "ask", because, note: undefined };
  const grant = await findGrant(store, {
    instance,
    call,
    requirement: requirementOf(judgement),
    now: call.now,
    isCertain: isCertain(judgement),
  });
  if (grant === undefined) return { outcome: "ask", because, note: undefined };
  return { outcome: "approve", because: "grant", note: grant.note ?? undefined };
}

function noteOf(ending: NonNullable<Judged["ending"]>): string | undefined {
  if (!("note" in ending) || ending.note === null) return undefined;
  return JSON.parse(ending.note) as string;
}

async function checkApproval(
  { store }: Context,
  caller: InstanceCaller,
  question: AuthzenQuestion,
  now: number,
): Promise<ApprovalCheck | undefined> {
  if (question.approval === undefined) return undefined;
  const id = approvalId(question);
  const request = id === undefined ? undefined : await readRequestOfInstance(store, caller, id);
  const expiresAt = request?.decision?.expiresAt ?? null;
  if (request === undefined || expiresAt === null) return { kind: "unverifiable" };
  if (!isInScope(request, question)) return { kind: "out_of_scope" };
  if (now >= expiresAt || (await readConsumption(store, request)) !== undefined) {
    return { kind: "expired" };
  }
  return { kind: "valid", id: request.id, expiresAt };
}

/** Undefined for a reference that this server did not issue; it issues none with a `state`. */
function approvalId({ approval }: AuthzenQuestion): string | undefined {
  if (!(approval instanceof JsonObject) || approval.members.has("state")) return undefined;
  const id = approval.members.get("id");
  return typeof id === "string" ? parseIdentifier(id) : undefined;
}
