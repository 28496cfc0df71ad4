/**
 * The act about people: money leaves only when two of finance say so, and one of them is enough to
 * keep it.
 */

import type { ApprovalRequest } from "@countersign/protocol";
import { type Cast, expect } from "./policy.ts";

const INVOICE = {
  tool: "payments.transfer",
  arguments: { to: "DE89370400440532013000", amount: "4800.00", currency: "EUR" },
  timeout: "10m",
};
const ODD = {
  tool: "payments.transfer",
  arguments: { to: "GB29NWBK60161331926819", amount: "9999.00", currency: "EUR" },
  timeout: "10m",
};

/** The names of the reviewers in the group. */
export const FINANCE = ["li", "mo"] as const;

type Colleague = (typeof FINANCE)[number];

export interface FinanceCast extends Pick<Cast, "say" | "ask"> {
  /** Runs a command as one of them, and prints it with its answer. */
  reviewAs(colleague: Colleague, ...command: readonly string[]): Promise<void>;
  /** Reads the request as the agent's adapter. */
  read(id: string): Promise<ApprovalRequest>;
}

/** @returns the id of the request that one of them denied */
export async function showPeople({ say, ask, reviewAs, read }: FinanceCast): Promise<string> {
  const invoice = await ask("invoice", INVOICE);
  expect(invoice, "pending");
  await reviewAs("li", "requests", "approve", invoice.id, "--yes");
  expect(await read(invoice.id), "pending");
  await reviewAs("mo", "requests", "approve", invoice.id, "--yes");
  expect(await read(invoice.id), "approved");
  say();
  say("Two different people have approved: the call runs. One of them doubts the next call.");
  say();
  const odd = await ask("odd", ODD);
  await reviewAs("li", "requests", "approve", odd.id, "--yes");
  await reviewAs("mo", "requests", "deny", odd.id, "--note", "We do not know this account.");
  const denied = await read(odd.id);
  expect(denied, "denied");
  say();
  say(`  denied by one of the two: "${denied.decision?.note}"`);
  return odd.id;
}
