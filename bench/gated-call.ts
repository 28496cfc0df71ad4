/**
 * The overhead of the SDK: from the call of a tool that policy approves to the start of the tool,
 * one call after another. Beside it, in turns: one creation through the same `fetch`, which is the
 * cheapest exchange that a gated call can have.
 */

import { Countersign } from "@countersign/sdk";
import type { Options } from "./options.ts";
import { policyOfManyRules } from "./policy.ts";
import { type Spread, spreadOf } from "./statistics.ts";
import { startSubject } from "./subject.ts";
import { reportProgress } from "./table.ts";

export interface GatedCalls {
  readonly calls: number;
  /** From the tool call to the start of the tool, ms. */
  readonly gated: Spread;
  /** One creation, from the request to the parsed body, ms. */
  readonly bare: Spread;
}

const WARM_UP_CALLS = 200;

export const ARGUMENTS = {
  account: "acct_1042",
  amount: 129_900,
  currency: "EUR",
  lines: [{ sku: "A-17", quantity: 3 }],
};

export async function measureGatedCalls({ rounds, seconds }: Options): Promise<GatedCalls> {
  const subject = await startSubject({ connections: 1, policy: policyOfManyRules() });
  const url = `http://localhost:${subject.port}`;
  const approvals = new Countersign({ url, apiKey: subject.token, logger: false });
  const gated = gatedCaller(approvals);
  const bare = bareCaller(url, subject.token);
  try {
    const gatedMs: number[] = [];
    const bareMs: number[] = [];
    for (let i = 0; i < WARM_UP_CALLS; i++) {
      await gated();
      await bare();
    }
    const endsAt = performance.now() + rounds * seconds * 1_000;
    reportProgress(`gated-call: ${rounds * seconds} s`);
    while (performance.now() < endsAt) {
      gatedMs.push(await gated());
      bareMs.push(await bare());
    }
    return { calls: gatedMs.length, gated: spreadOf(gatedMs), bare: spreadOf(bareMs) };
  } finally {
    await subject.stop();
  }
}

/** @returns calls the tool; resolves to the time until the tool started, ms */
function gatedCaller(approvals: Countersign): () => Promise<number> {
  const refund = approvals.tool("payments.refund", () => performance.now());
  return async () => {
    const calledAt = performance.now();
    const result = await refund(ARGUMENTS);
    if (result.status !== "executed") throw new Error(`a call is ${result.reason}`);
    return result.value - calledAt;
  };
}

/** @returns creates one request that policy approves; resolves to the time that it took, ms */
export function bareCaller(url: string, token: string): () => Promise<number> {
  return async () => {
    const sentAt = performance.now();
    const response = await fetch(`${url}/v1/requests`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        "idempotency-key": crypto.randomUUID(),
      },
      body: JSON.stringify({ tool: "payments.refund", arguments: ARGUMENTS, timeout: "1h" }),
    });
    const { status } = (await response.json()) as { readonly status: string };
    if (status !== "approved") throw new Error(`a request is ${status}`);
    return performance.now() - sentAt;
  };
}
