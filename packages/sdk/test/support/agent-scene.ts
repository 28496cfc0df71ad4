/**
 * The real provider with an instance for the agent and a reviewer who decides: what most tests of
 * the gate begin with. Time is the real one, unless the test brings a clock.
 */

import type { ReviewedRequest } from "@countersign/server/test/support/test-provider";
import {
  type Lifetime,
  startTestProvider,
  type TestProvider,
  type TestProviderOptions,
} from "@countersign/server/test/support/test-provider";
import { eventually } from "countersign/test/support/eventually.ts";

export interface AgentScene {
  readonly server: TestProvider;
  readonly url: string;
  /** The credential of the instance. */
  readonly token: string;
  readonly reviewer: string;
  /** Waits until a request is pending, and decides it. @returns its id */
  decideNext(verdict: "approve" | "deny", fields?: object): Promise<string>;
  /** Waits until there is a request that is pending. @returns its id */
  nextPending(): Promise<string>;
  /** All there are, in any state. */
  countRequests(): Promise<number>;
}

export async function startAgentScene(
  t: Lifetime,
  options: TestProviderOptions = {},
): Promise<AgentScene> {
  // Whoever waits for a request looks often.
  const settings = { instance_rate: "0", reviewer_rate: "0", ...options.settings };
  const server = await startTestProvider(t, { ...options, settings });
  const { token } = await server.instance();
  const reviewer = await server.token({ kind: "reviewer" });
  const nextPending = () => {
    return eventually("a request that is pending", async () => {
      const path = "/review/v1/requests?state=pending";
      const call = { token: reviewer };
      const { json } = await server.call<{ requests: ReviewedRequest[] }>("GET", path, call);
      return json.requests[0]?.id;
    });
  };
  return {
    server,
    url: server.url,
    token,
    reviewer,
    nextPending,
    async decideNext(verdict, fields) {
      const id = await nextPending();
      await server.decide(reviewer, id, verdict, fields);
      return id;
    },
    async countRequests() {
      const { store } = server.provider.context;
      const row = await store.get("select count(*) as n from request");
      return Number(row?.n);
    },
  };
}
