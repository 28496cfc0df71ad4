/**
 * The types that a program sees. `npm run types` checks them; the tests run the same code.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  Countersign,
  DevelopmentProvider,
  type NotExecuted,
  type Pending,
  type Result,
} from "@countersign/sdk";

interface Refund {
  order: string;
  cents: number;
}

type Outcome = "approved" | "denied" | "expired" | "cancelled";

function approvalsWith(outcome: Outcome, isPendingFirst = false): Countersign {
  const outcomes = { "refunds.create": outcome };
  const provider = new DevelopmentProvider({
    outcomes,
    isPendingFirst,
    logger: { warn: () => {} },
  });
  return new Countersign({ provider, logger: false, wait: !isPendingFirst });
}

/** The compiler accepts the function without a default case only if the statuses are complete. */
function describe(result: Result<string, Refund>, saved: Pending<Refund>[]): string {
  switch (result.status) {
    case "executed":
      return result.value;
    case "denied":
    case "expired":
    case "cancelled":
    case "unavailable":
      return `${result.reason}: ${result.messageForModel}`;
    case "pending":
      saved.push(result.pending);
      return result.pending.tool;
  }
}

test("[ours.sdk.tool] a switch over the six statuses of a result is complete", async () => {
  const saved: Pending<Refund>[] = [];
  const described: Record<string, string> = {};
  for (const outcome of ["approved", "denied", "expired", "cancelled"] as const) {
    const refund = approvalsWith(outcome).tool("refunds.create", async (args: Refund) => {
      // A tool may change its copy of the arguments.
      args.cents += 1;
      return `${args.cents} back for ${args.order}`;
    });
    const result = await refund({ order: "A-1", cents: 499 });
    const text: string = describe(result, saved);
    described[outcome] = text.split(":")[0] ?? "";
  }
  assert.deepEqual(described, {
    approved: "500 back for A-1",
    denied: "denied",
    expired: "expired",
    cancelled: "cancelled",
  });
});

test("[ours.sdk.tool] resume keeps the types of the arguments and of the value", async () => {
  const approvals = approvalsWith("approved", true);
  const refund = approvals.tool(
    "refunds.create",
    ({ order, cents }: Refund) => order.length + cents,
  );
  const result = await refund({ order: "A-1", cents: 500 });
  assert.ok(result.status === "pending");
  const resumed = await refund.resume(result.pending);
  assert.ok(resumed.status === "executed");
  const value: number = resumed.value;
  assert.equal(value, 503);
  const text = (args: Refund) => `${args.order}`;
  const again: Result<string, Refund> = await approvals.resume(result.pending, text);
  const { reason }: NotExecuted = again as NotExecuted;
  assert.equal(reason, "already_used");
});

/** Each line with an expected error compiles only if the compiler rejects the next one. */
export const rejected = [
  // @ts-expect-error: a duration needs a unit
  () => new Countersign({ timeout: "10" }),
  // @ts-expect-error: reviewers do not decide within milliseconds
  () => new Countersign({ timeout: "500ms" }),
  // @ts-expect-error: a number has no unit
  () => new Countersign({ cancelTimeout: 5_000 }),
  // @ts-expect-error: there is no such option
  () => new Countersign({ timeOut: "10m" }),
  (refund: ReturnType<typeof refundOf>) => {
    // @ts-expect-error: the argument `cents` is missing
    return refund({ order: "A-1" });
  },
  (result: NotExecuted) => {
    if (result.status !== "denied") return undefined;
    const { reason }: { readonly reason: "denied" } = result;
    // @ts-expect-error: an approval that lapsed is not a denial
    return reason === "lapsed";
  },
  (result: Result<string>) => {
    // @ts-expect-error: only an executed call has a value
    return result.value;
  },
  (pending: Pending<{ other: boolean }>, refund: ReturnType<typeof refundOf>) => {
    // @ts-expect-error: a Pending of another tool has other arguments
    return refund.resume(pending);
  },
];

function refundOf(approvals: Countersign) {
  return approvals.tool("refunds.create", ({ order }: Refund) => order);
}
