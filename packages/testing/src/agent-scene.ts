/**
 * A real provider with an instance for the agent and a reviewer: the setup of most tests of the
 * gate, the hook and the gateway. It uses the real time unless the test passes a clock.
 */

import type { ReviewedRequest } from "../../server/test/support/test-provider.ts";
import {
  type Lifetime,
  startTestProvider,
  type TestProvider,
  type TestProviderOptions,
} from "../../server/test/support/test-provider.ts";
import { eventually } from "./eventually.ts";

export interface AgentScene {
  readonly server: TestProvider;
  readonly url: string;
  /** The credential of the instance. */
  readonly token: string;
  /** The variables that an agent reads. */
  readonly environment: Readonly<Record<string, string>>;
  readonly reviewer: string;
  /** Waits until a request is pending, and decides it. @returns its id */
  decideNext(verdict: "approve" | "deny", fields?: object): Promise<string>;
  /** Waits for a pending request. @returns its id */
  nextPending(): Promise<string>;
  /** Requests in any state. */
  countRequests(): Promise<number>;
}

export async function startAgentScene(
  t: Lifetime,
  options: TestProviderOptions = {},
): Promise<AgentScene> {
  // nextPending polls often.
  const settings = { instance_rate: "0", reviewer_rate: "0", ...options.settings };
  const server = await startTestProvider(t, { ...options, settings });
  const { token } = await server.instance();
  const reviewer = await server.token({ kind: "reviewer" });
  const nextPending = () => {
    return eventually("a pending request", async () => {
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
    environment: { COUNTERSIGN_URL: server.url, COUNTERSIGN_API_KEY: token },
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
