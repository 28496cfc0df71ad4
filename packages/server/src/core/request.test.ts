import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { kindOfActor } from "./actor.ts";
import {
  deadline,
  type IntendedDecision,
  isOverdue,
  type ResolvableRequest,
  resolve,
  type StoredDecision,
} from "./request.ts";

const CREATED = 1_000_000;
const DEADLINE = CREATED + 60_000;

const pending: ResolvableRequest = {
  id: "019c0000-0000-7000-8000-000000000001",
  instanceId: "019c0000-0000-7000-8000-000000000002",
  projectId: "019c0000-0000-7000-8000-000000000003",
  tool: '"deploy"',
  arguments: "{}",
  timeout: "60s",
  agentReasoning: null,
  context: null,
  status: "pending",
  createdAt: CREATED,
  deadlineAt: DEADLINE,
  decision: null,
  policy: null,
  server: null,
  isInstanceDeleted: false,
};

const approve: IntendedDecision = {
  status: "approved",
  by: "reviewer:r",
  note: '"go"',
  validityMs: 5_000,
};
const deny: IntendedDecision = { status: "denied", by: "reviewer:r", note: null };
const cancel: IntendedDecision = { status: "cancelled", by: "instance:i" };
const expire: IntendedDecision = { status: "expired" };

/** The request after a decision, as an operation would record it. */
function after(
  request: ResolvableRequest,
  ending: IntendedDecision,
  now: number,
): ResolvableRequest {
  const resolution = resolve(request, ending, now);
  if (resolution.kind === "not_due") return request;
  return { ...request, status: resolution.decision.status, decision: resolution.decision };
}

test("[request.deadline.window] the window is the one asked for, shortened to the maximum, never lengthened", () => {
  assert.equal(deadline(CREATED, 5_000, 60_000), CREATED + 5_000);
  assert.equal(deadline(CREATED, 60_000, 60_000), CREATED + 60_000);
  assert.equal(deadline(CREATED, 60_001, 60_000), CREATED + 60_000);
  assert.equal(deadline(CREATED, Number.POSITIVE_INFINITY, 60_000), CREATED + 60_000);
});

test("[ours.expire.read-after-deadline] a pending request is overdue from the deadline on, a decided one never", () => {
  assert.equal(isOverdue(pending, DEADLINE - 1), false);
  assert.equal(isOverdue(pending, DEADLINE), true);
  assert.equal(isOverdue(pending, DEADLINE + 1), true);
  assert.equal(isOverdue(after(pending, deny, CREATED), DEADLINE), false);
});

test("[request.approve] an approval before the deadline is recorded with its validity and note", () => {
  assert.deepEqual(resolve(pending, approve, DEADLINE - 1), {
    kind: "resolved",
    decision: {
      status: "approved",
      note: '"go"',
      decidedAt: DEADLINE - 1,
      expiresAt: DEADLINE - 1 + 5_000,
      decidedBy: "reviewer:r",
    },
  });
});

test("[request.deny] [decision.expiry.absent-otherwise] denials and cancellations have no expiry", () => {
  for (const ending of [deny, cancel]) {
    const resolution = resolve(pending, ending, CREATED + 1);
    assert.ok(resolution.kind === "resolved");
    assert.equal(resolution.decision.status, ending.status);
    assert.equal(resolution.decision.expiresAt, null);
    assert.equal(resolution.decision.decidedAt, CREATED + 1);
  }
});

test("[request.expire.no-late-approval] at and after the deadline every verdict becomes expired", () => {
  for (const ending of [approve, deny, cancel, expire]) {
    for (const now of [DEADLINE, DEADLINE + 1, DEADLINE * 2]) {
      assert.deepEqual(resolve(pending, ending, now), {
        kind: "resolved",
        decision: {
          status: "expired",
          note: null,
          decidedAt: now,
          expiresAt: null,
          decidedBy: "system:deadline",
        },
      });
    }
  }
});

test("[request.expire.not-early] expiry before the deadline is not due", () => {
  assert.deepEqual(resolve(pending, expire, DEADLINE - 1), { kind: "not_due" });
});

test("a clock that stepped back does not date a decision before its request", () => {
  const early = CREATED - 3_600_000;
  for (const ending of [approve, deny, cancel]) {
    const resolution = resolve(pending, ending, early);
    assert.ok(resolution.kind === "resolved");
    assert.equal(resolution.decision.decidedAt, CREATED);
    assert.equal(resolution.decision.expiresAt, ending === approve ? CREATED + 5_000 : null);
  }
  assert.deepEqual(resolve(pending, expire, early), { kind: "not_due" });
});

const ending: fc.Arbitrary<IntendedDecision> = fc.oneof(
  fc.record({
    status: fc.constant("approved" as const),
    by: fc.constant("reviewer:r" as const),
    note: fc.constantFrom(null, '"a"'),
    validityMs: fc.integer({ min: 1_000, max: 86_400_000 }),
  }),
  fc.constantFrom(deny, cancel, expire),
);

test("[request.terminal.unchanged] the first decision remains, for every order of later ones", () => {
  const now = fc.integer({ min: CREATED - 10_000, max: DEADLINE + 10_000 });
  const property = fc.property(fc.array(fc.tuple(ending, now), { minLength: 1 }), (requests) => {
    let request = pending;
    for (const [wanted, at] of requests) {
      const before = request;
      request = after(before, wanted, at);
      if (before.decision !== null) {
        assert.equal(request.decision, before.decision);
        assert.equal(resolve(before, wanted, at).kind, "already_terminal");
      }
    }
  });
  fc.assert(property);
});

test("[request.expire.no-late-approval] [decision.expiry.approved] [request.decision.matches-status] every decision is possible at its time", () => {
  const now = fc.integer({ min: CREATED - 10_000, max: DEADLINE + 10_000 });
  const property = fc.property(ending, now, (wanted, at) => {
    const { status, decision } = after(pending, wanted, at);
    assert.equal(decision?.status ?? "pending", status);
    if (decision === null) return;
    assert.equal(decision.status, at >= DEADLINE ? "expired" : wanted.status);
    assert.ok(decision.decidedAt >= CREATED);
    if (status === "approved") {
      assert.ok(decision.decidedAt < DEADLINE);
      assert.ok((decision.expiresAt ?? 0) > decision.decidedAt);
    } else {
      assert.equal(decision.expiresAt, null);
    }
  });
  fc.assert(property);
});

test("the text before the first colon is the kind of the actor", () => {
  assert.equal(kindOfActor("reviewer:019c0000-0000-7000-8000-000000000001"), "reviewer");
  assert.equal(kindOfActor("operator:cli"), "operator");
});

test("[instance.delete.no-decision] under a deleted instance every verdict becomes cancelled, before and after the deadline", () => {
  const orphan = { ...pending, isInstanceDeleted: true };
  const endings: readonly IntendedDecision[] = [approve, deny, cancel, expire];
  for (const now of [CREATED + 1, DEADLINE, DEADLINE + 1]) {
    for (const asked of endings) {
      const decision: StoredDecision = {
        status: "cancelled",
        note: null,
        decidedAt: now,
        expiresAt: null,
        decidedBy: "system:instance-deletion",
      };
      assert.deepEqual(resolve(orphan, asked, now), { kind: "resolved", decision });
    }
  }
});

test("[request.terminal.unchanged] the deletion of the instance changes no decision", () => {
  const approved = { ...after(pending, approve, CREATED + 1), isInstanceDeleted: true };
  const { decision } = approved;
  assert.deepEqual(resolve(approved, cancel, CREATED + 2), { kind: "already_terminal", decision });
});
