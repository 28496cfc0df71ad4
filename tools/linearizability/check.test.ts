import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApprovalRequest, TerminalStatus } from "@countersign/protocol";
import fc from "fast-check";
import { linearize, type Model, type Operation } from "./check.ts";
import { type Answered, REQUEST_MODEL, type RequestCall } from "./request-model.ts";

/** A register that is read and written. */
type Access = { readonly write: number } | "read";

const REGISTER: Model<number, Access, number> = {
  initial: 0,
  keyOf: String,
  step(state, input, output) {
    if (input !== "read") return [input.write];
    return output === undefined || output === state ? [state] : [];
  },
};

type Span<Input, Output> = readonly [from: number, to: number, Input, Output | undefined];

function history<Input, Output>(
  ...spans: readonly Span<Input, Output>[]
): Operation<Input, Output>[] {
  return spans.map(([calledAt, answeredAt, input, output]) => {
    return { calledAt, answeredAt: output === undefined ? Infinity : answeredAt, input, output };
  });
}

const isRegister = (...spans: readonly Span<Access, number>[]) =>
  linearize(REGISTER, history(...spans)) !== undefined;

test("operations that overlap may have happened in either order", () => {
  assert.ok(isRegister([0, 10, { write: 1 }, 0], [1, 2, "read", 0]));
  assert.ok(isRegister([0, 10, { write: 1 }, 0], [1, 2, "read", 1]));
  assert.ok(isRegister([0, 10, { write: 1 }, 0], [0, 10, { write: 2 }, 0], [11, 12, "read", 1]));
});

test("a completed operation stays visible to later operations", () => {
  assert.ok(!isRegister([0, 1, { write: 1 }, 0], [2, 3, "read", 0]));
});

test("a value that was read once stays readable while its write is open", () => {
  assert.ok(!isRegister([0, 10, { write: 1 }, 0], [1, 2, "read", 1], [3, 4, "read", 0]));
});

test("two readers must agree on the order of two writes", () => {
  const writes = [
    [0, 100, { write: 1 }, 0],
    [0, 100, { write: 2 }, 0],
  ] as const;
  const one = [
    [1, 2, "read", 1],
    [3, 4, "read", 2],
  ] as const;
  assert.ok(isRegister(...writes, ...one));
  assert.ok(!isRegister(...writes, ...one, [5, 6, "read", 1]));
});

test("an operation without a response may take effect late, or never", () => {
  assert.ok(isRegister([0, 0, { write: 1 }, undefined], [5, 6, "read", 0]));
  assert.ok(isRegister([0, 0, { write: 1 }, undefined], [5, 6, "read", 0], [7, 8, "read", 1]));
  assert.ok(!isRegister([4, 0, { write: 1 }, undefined], [1, 2, "read", 1]));
});

test("a sequential history is accepted with any longer operation intervals", () => {
  const access = fc.oneof(fc.constant("read" as const), fc.record({ write: fc.nat(3) }));
  const steps = fc.array(fc.tuple(access, fc.nat(30), fc.nat(30)), { maxLength: 9 });
  fc.assert(
    fc.property(steps, (all) => {
      let value = 0;
      const spans = all.map(([input, before, after], n): Span<Access, number> => {
        if (input !== "read") value = input.write;
        return [n * 10 - before, n * 10 + 1 + after, input, value];
      });
      return isRegister(...spans);
    }),
    { numRuns: 300 },
  );
});

test("the search agrees with trying out every order", () => {
  const access = fc.oneof(fc.constant("read" as const), fc.record({ write: fc.nat(2) }));
  const span = fc.tuple(fc.nat(12), fc.integer({ min: 1, max: 6 }), access, fc.nat(2));
  const verdicts = new Set<boolean>();
  fc.assert(
    fc.property(fc.array(span, { maxLength: 6 }), (all) => {
      const spans = all.map(([from, lasts, input, output]): Span<Access, number> => {
        return [from, from + lasts, input, output];
      });
      const expected = permutations(history(...spans)).some(isExplained);
      verdicts.add(expected);
      return isRegister(...spans) === expected;
    }),
    { numRuns: 300, seed: 1 },
  );
  assert.equal(verdicts.size, 2);
});

function isExplained(order: readonly Operation<Access, number>[]): boolean {
  let value = 0;
  for (const [n, { input, output, calledAt }] of order.entries()) {
    if (order.slice(n + 1).some(({ answeredAt }) => answeredAt < calledAt)) return false;
    if (input !== "read") value = input.write;
    else if (output !== value) return false;
  }
  return true;
}

function permutations<T>(all: readonly T[]): T[][] {
  if (all.length === 0) return [[]];
  return all.flatMap((one, n) =>
    permutations(all.filter((_, other) => other !== n)).map((rest) => [one, ...rest]),
  );
}

/** An answer with a request of this status. */
function answer(status: number, as: "pending" | TerminalStatus, decidedAt = "1"): Answered {
  const decision = as === "pending" ? {} : { decision: { status: as, decided_at: decidedAt } };
  return { status, request: { status: as, ...decision } as ApprovalRequest };
}

const isRequest = (...spans: readonly Span<RequestCall, Answered>[]) =>
  linearize(REQUEST_MODEL, history(...spans)) !== undefined;

const CREATED: Span<RequestCall, Answered> = [0, 1, { kind: "create" }, answer(201, "pending")];
const READ: RequestCall = { kind: "read" };
const CANCEL: RequestCall = { kind: "cancel" };
const APPROVE: RequestCall = { kind: "verdict", verdict: "approve" };
const DENY: RequestCall = { kind: "verdict", verdict: "deny" };

test("a request that is decided once, and read before and after, is explained", () => {
  assert.ok(
    isRequest(
      CREATED,
      [2, 9, APPROVE, answer(200, "approved")],
      [2, 9, DENY, { status: 409 }],
      [3, 4, READ, answer(200, "pending")],
      [10, 11, CANCEL, { status: 409 }],
      [12, 13, { kind: "create" }, answer(200, "approved")],
      [14, 15, { kind: "delete" }, { status: 204 }],
      [16, 17, READ, { status: 401 }],
    ),
  );
});

test("an expiry may come at any moment, and stays", () => {
  const expired = answer(200, "expired");
  assert.ok(isRequest(CREATED, [2, 3, READ, expired], [4, 5, APPROVE, { status: 409 }]));
  assert.ok(!isRequest(CREATED, [2, 3, READ, expired], [4, 5, APPROVE, answer(200, "approved")]));
});

const IMPOSSIBLE: readonly (readonly [
  what: string,
  ...(readonly Span<RequestCall, Answered>[]),
])[] = [
  ["two outcomes", [2, 9, APPROVE, answer(200, "approved")], [2, 9, DENY, answer(200, "denied")]],
  [
    "a decision that is undone",
    [2, 3, CANCEL, answer(200, "cancelled")],
    [4, 5, READ, answer(200, "pending")],
  ],
  ["an approval without a verdict", [2, 3, READ, answer(200, "approved")]],
  ["an approval of a denier", [2, 3, DENY, answer(200, "approved")]],
  [
    "a decision of another time",
    [2, 3, CANCEL, answer(200, "cancelled")],
    [4, 5, READ, answer(200, "cancelled", "2")],
  ],
  ["a second creation", [2, 3, { kind: "create" }, answer(201, "pending")]],
  ["a request that is lost", [2, 3, READ, { status: 404 }]],
  [
    "a credential that outlives",
    [2, 3, { kind: "delete" }, { status: 204 }],
    [4, 5, READ, answer(200, "pending")],
  ],
  [
    "two readers who saw it end differently",
    [2, 99, APPROVE, undefined],
    [2, 99, CANCEL, undefined],
    [3, 4, READ, answer(200, "approved")],
    [5, 6, READ, answer(200, "cancelled")],
  ],
];

for (const [what, ...spans] of IMPOSSIBLE) {
  test(`a history with ${what} is refused`, () => {
    assert.ok(!isRequest(CREATED, ...spans));
  });
}
