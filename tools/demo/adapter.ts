/**
 * The adapter of an agent: exchanges with the credential of its instance. A call runs only with a
 * valid approval.
 */

import type { ApprovalRequest, ErrorResponse } from "@countersign/protocol";

export interface Submission {
  readonly key: string;
  readonly body: unknown;
}

/** A GET, or a POST with a submission. */
export async function exchange<T>(
  url: string,
  path: string,
  token: string,
  submission?: Submission,
): Promise<T> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const response = await fetch(
    url + path,
    submission === undefined
      ? { headers }
      : {
          method: "POST",
          headers: { ...headers, "idempotency-key": submission.key },
          body: JSON.stringify(submission.body),
        },
  );
  const answer = (await response.json()) as T & Partial<ErrorResponse>;
  if (!response.ok) throw new Error(`${path}: ${answer.error?.message}`);
  return answer;
}

/** Polls until the request is terminal, as the contract asks of adapters. */
export async function learn(url: string, token: string, id: string): Promise<ApprovalRequest> {
  for (;;) {
    const request = await exchange<ApprovalRequest>(url, `/v1/requests/${id}?wait=25s`, token);
    if (request.status !== "pending") return request;
  }
}

export function mayRun({ decision }: ApprovalRequest): boolean {
  if (decision?.status !== "approved" || decision.expires_at === undefined) return false;
  return Date.now() < Date.parse(decision.expires_at);
}
