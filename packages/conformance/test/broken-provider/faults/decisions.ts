/**
 * Faults of requests and their decisions: shapes, ends, what never changes.
 */

import { formatTimestamp } from "@countersign/protocol";
import type { StoredDecision } from "../ledger.ts";
import { answering, CORRECT, type Fault, isSuccess, showing, showingArguments } from "./fault.ts";

const REQUEST = "Resources, ApprovalRequest";
const DECISION = "Resources, Decision";
const STATES = "States, Approval request";

const SHAPES: readonly Fault[] = [
  {
    id: "id-no-uuid",
    section: "Resources, Scalar formats",
    breaks: ["scalar.identifier.format"],
    sentence: "Ids of requests have a prefix.",
    plant: {
      ...showing(({ id = "" }) => ({ id: `"req_${id.slice(1)}` })),
      pathId: (sent) => CORRECT.pathId(sent.replace(/^req_/, "")),
    },
  },
  {
    id: "timestamp-without-zone",
    section: "Resources, Scalar formats",
    breaks: ["scalar.timestamp.format"],
    sentence: "Timestamps have no zone.",
    plant: { timestamp: (ms) => formatTimestamp(ms).slice(0, -1) },
  },
  {
    id: "timestamp-offset",
    section: "Resources, Scalar formats",
    breaks: ["scalar.timestamp.format"],
    sentence: "Timestamps end in +00:00.",
    plant: { timestamp: (ms) => formatTimestamp(ms).replace("Z", "+00:00") },
  },
  {
    id: "timestamp-number",
    section: "Resources, Scalar formats",
    breaks: ["scalar.timestamp.format", "request.shape"],
    sentence: "`created_at` is a number of seconds.",
    plant: {
      showRequest: (members, { createdAt }) => ({ ...members, created_at: `${createdAt}` }),
    },
  },
  {
    id: "request-more",
    section: REQUEST,
    breaks: ["request.shape"],
    sentence: "A request shows its instance as well.",
    plant: {
      showRequest: (members, { instance }) => ({ ...members, instance_id: `"${instance.id}"` }),
    },
  },
  {
    id: "request-nulls",
    section: REQUEST,
    breaks: ["request.shape"],
    sentence: "Fields that were not submitted are shown as null.",
    plant: showing(({ context = "null" }) => ({ context })),
  },
  {
    id: "request-less",
    section: REQUEST,
    breaks: ["request.shape"],
    sentence: "A request has no `deadline_at`.",
    plant: showing(() => ({ deadline_at: undefined })),
  },
  {
    id: "deadline-at-creation",
    section: REQUEST,
    breaks: ["request.deadline.window"],
    sentence: "`deadline_at` shows when the request was created.",
    plant: showing(({ created_at }) => ({ deadline_at: created_at })),
  },
  {
    id: "timestamps-of-days",
    section: REQUEST,
    breaks: ["request.deadline.window", "decision.expiry.approved"],
    sentence: "Timestamps are cut to days, so that a short window has no length.",
    plant: {
      timestamp: (ms) => formatTimestamp(ms - (ms % 86_400_000)),
    },
    seenBy: ["expire.deadline"],
  },
  {
    id: "decision-while-pending",
    section: REQUEST,
    breaks: ["request.decision.absent-while-pending"],
    sentence: "A pending request has a decision.",
    plant: showing(({ created_at, decision }) => ({
      decision: decision ?? `{"status":"denied","decided_at":${created_at}}`,
    })),
  },
  {
    id: "decision-missing",
    section: REQUEST,
    breaks: ["request.decision.matches-status"],
    sentence: "A cancelled request has no decision.",
    plant: showing(({ status, decision }) => ({
      decision: status === '"cancelled"' ? undefined : decision,
    })),
    seenBy: ["cancel.pending"],
  },
  {
    id: "decision-status-other",
    section: REQUEST,
    breaks: ["request.decision.matches-status"],
    sentence: "The decision of a cancelled request says that it is denied.",
    plant: {
      showDecision: (members) => ({
        ...members,
        status: members.status === '"cancelled"' ? '"denied"' : members.status,
      }),
    },
    seenBy: ["cancel.pending"],
  },
  {
    id: "decision-more",
    section: DECISION,
    breaks: ["decision.shape"],
    sentence: "A decision contains the reviewer.",
    plant: { showDecision: (members) => ({ ...members, decided_by: '"somebody"' }) },
  },
  {
    id: "note-null",
    section: DECISION,
    breaks: ["decision.shape"],
    sentence: "A decision without a note has one of null.",
    plant: { showDecision: (members) => ({ ...members, note: members.note ?? "null" }) },
  },
];

const EXPIRY: readonly Fault[] = [
  {
    id: "approval-without-expiry",
    section: DECISION,
    breaks: ["decision.expiry.approved"],
    sentence: "An approval has no `expires_at`.",
    plant: { showDecision: (members) => ({ ...members, expires_at: undefined }) },
  },
  {
    id: "approval-expires-at-once",
    section: DECISION,
    breaks: ["decision.expiry.approved"],
    sentence: "An approval expires when it is given.",
    plant: {
      showDecision: (members) => ({
        ...members,
        expires_at: members.expires_at && members.decided_at,
      }),
    },
  },
  {
    id: "denial-expires",
    section: DECISION,
    breaks: ["decision.expiry.absent-otherwise"],
    sentence: "Every decision has an `expires_at`.",
    plant: {
      showDecision: (members, { decidedAt }) => ({
        ...members,
        expires_at: members.expires_at ?? `"${formatTimestamp(decidedAt + 60_000)}"`,
      }),
    },
  },
  {
    id: "expiry-moves",
    section: DECISION,
    breaks: ["decision.expiry.not-extended", "request.terminal.unchanged"],
    sentence: "Every read of an approval moves its `expires_at`.",
    plant: {
      showDecision: (members) => ({
        ...members,
        expires_at: members.expires_at && `"${formatTimestamp(Date.now() + 60_000)}"`,
      }),
    },
  },
  {
    id: "approved-turns-expired",
    section: DECISION,
    breaks: ["decision.expiry.keeps-status"],
    sentence: "An approval that is read after its `expires_at` has become `expired`.",
    plant: {
      settle(request, ledger, overdue) {
        CORRECT.settle(request, ledger, overdue);
        const { status, decidedAt, expiresAt } = request.decision ?? {};
        if (status !== "approved" || decidedAt === undefined || Date.now() < (expiresAt ?? 0))
          return;
        request.decision = { status: "expired", note: undefined, decidedAt, expiresAt: undefined };
      },
    },
    options: { validityMs: 1_000 },
  },
];

/** Changes what is recorded of one end. */
function recording(
  isMeant: (decision: StoredDecision) => boolean,
  change: (decision: StoredDecision) => Partial<StoredDecision>,
): Fault["plant"] {
  return {
    record: (decision) => (isMeant(decision) ? { ...decision, ...change(decision) } : decision),
  };
}

const ENDS: readonly Fault[] = [
  {
    id: "approval-denies",
    section: STATES,
    breaks: ["request.approve"],
    sentence: "An approval is recorded as a denial.",
    plant: recording(
      ({ status }) => status === "approved",
      () => ({ status: "denied", expiresAt: undefined }),
    ),
  },
  {
    id: "denial-cancels",
    section: STATES,
    breaks: ["request.deny"],
    sentence: "A denial is recorded as a cancellation.",
    plant: recording(
      ({ status }) => status === "denied",
      () => ({ status: "cancelled" }),
    ),
  },
  {
    id: "expiry-denies",
    section: STATES,
    breaks: ["request.expire"],
    sentence: "An undecided request is denied at its deadline.",
    plant: recording(
      ({ status }) => status === "expired",
      () => ({ status: "denied" }),
    ),
  },
  {
    id: "expiry-never",
    section: STATES,
    breaks: ["request.expire"],
    sentence: "An undecided request stays pending forever.",
    plant: { settle: () => undefined, expiresByItself: () => false },
  },
  {
    id: "expiry-early",
    section: STATES,
    breaks: ["request.expire.not-early"],
    sentence: "A request expires half a second before the deadline that it shows.",
    plant: {
      showRequest: (members, { deadlineAt }) => ({
        ...members,
        deadline_at: `"${formatTimestamp(deadlineAt + 500)}"`,
      }),
    },
  },
  {
    id: "expiry-approved-late",
    section: STATES,
    breaks: ["request.expire.no-late-approval"],
    sentence: "An approval after the deadline turns an expired request into an approved one.",
    plant: { mayDecide: ({ decision }) => decision === undefined || decision.status === "expired" },
  },
  {
    id: "expiry-only-swept",
    section: STATES,
    breaks: ["request.expire.no-late-approval", "request.expire"],
    sentence: "Only a sweep expires requests: what it has not seen yet can be approved.",
    plant: {
      settle: () => undefined,
      expiresByItself: () => false,
      mayDecide: ({ decision }) => decision === undefined,
    },
  },
  {
    id: "verdict-overrides",
    section: "States, Other rules",
    breaks: ["request.terminal.unchanged", "request.one-outcome"],
    sentence: "A later verdict takes the place of the first.",
    plant: { mayDecide: () => true },
  },
  {
    id: "verdict-after-cancel",
    section: "States, Other rules",
    breaks: ["request.terminal.unchanged", "request.one-outcome"],
    sentence: "A cancelled request can be approved.",
    plant: {
      mayDecide: (request, now) =>
        request.decision?.status === "cancelled" || CORRECT.mayDecide(request, now),
    },
  },
  {
    id: "decided-at-moves",
    section: DECISION,
    breaks: ["request.terminal.unchanged", "request.cancel.repeat"],
    sentence: "`decided_at` is the time of the read.",
    plant: {
      showDecision: (members) => ({ ...members, decided_at: `"${formatTimestamp(Date.now())}"` }),
    },
  },
  {
    id: "arguments-erased",
    section: REQUEST,
    breaks: ["request.immutable"],
    sentence: "The arguments of a decided request are empty.",
    plant: showing(({ status, arguments: source }) => ({
      arguments: status === '"pending"' ? source : "{}",
    })),
  },
  {
    id: "context-erased",
    section: REQUEST,
    breaks: ["request.immutable"],
    sentence: "A decided request loses its context and reasoning.",
    plant: showing(({ status, context, agent_reasoning }) =>
      status === '"pending"'
        ? { context, agent_reasoning }
        : { context: undefined, agent_reasoning: undefined },
    ),
  },
  {
    id: "note-alters",
    section: DECISION,
    breaks: ["decision.note.inert", "request.immutable"],
    sentence: "The note is put into the arguments.",
    plant: {
      showRequest: (members, { decision }) => ({
        ...members,
        arguments:
          decision?.note === undefined
            ? members.arguments
            : `{"note":${JSON.stringify(decision.note)}}`,
      }),
    },
  },
  {
    id: "arguments-wrapped",
    section: REQUEST,
    breaks: ["request.as-submitted", "scalar.arguments.exact"],
    sentence: "The arguments come back as text.",
    plant: showingArguments((source) => JSON.stringify({ json: source })),
  },
  {
    id: "create-is-200",
    section: "Endpoints, POST /v1/requests",
    breaks: ["request.create"],
    sentence: "A new submission is a 200.",
    plant: answering(
      (about) => isSuccess(about) && about.operation === "createApprovalRequest",
      () => ({ status: 200 }),
    ),
  },
];

export const DECISION_FAULTS: readonly Fault[] = [...SHAPES, ...EXPIRY, ...ENDS];
