import { request } from "node:http";
import type { ApprovalRequest, ErrorResponse } from "@countersign/protocol";
import type { Answer, TestProvider } from "./test-provider.ts";
import { PATIENCE_MS, until } from "./until.ts";

export interface LongPoll {
  readonly answer: Promise<Answer<ApprovalRequest & ErrorResponse>>;
}

/** Polls a request and returns once the poll waits. */
export async function startLongPoll(
  server: TestProvider,
  token: string,
  id: string,
  wait = "30s",
): Promise<LongPoll> {
  const { wake } = server.provider.context;
  const waiting = wake.waiting + 1;
  const answer = server.call<ApprovalRequest & ErrorResponse>(
    "GET",
    `/v1/requests/${id}?wait=${wait}`,
    { token, signal: AbortSignal.timeout(PATIENCE_MS) },
  );
  // The caller awaits the answer later; a failure before that must not be an unhandled rejection.
  answer.catch(() => {});
  await until(() => wake.waiting === waiting, "the poll waits");
  return { answer };
}

/**
 * As {@link startLongPoll}, on a connection of its own.
 *
 * @returns breaks the connection off
 */
export async function startLongPollAlone(
  server: TestProvider,
  token: string,
  id: string,
): Promise<() => void> {
  const { wake } = server.provider.context;
  const waiting = wake.waiting + 1;
  const headers = { authorization: `Bearer ${token}` };
  const call = request(`${server.url}/v1/requests/${id}?wait=30s`, { agent: false, headers });
  call.on("error", () => {});
  call.end();
  await until(() => wake.waiting === waiting, "the poll waits");
  return () => call.destroy();
}
