/** One verdict on several calls: each is sent by itself, with the digest of its own arguments. */

import { api } from "../../api.ts";
import { takeRequest } from "../../live/pending-list.ts";
import type { PendingRequest } from "../../live/pending-request.ts";

const AT_ONCE = 4;

/** How long an approval can be taken back. */
const HOLD = "5s";

export interface Failure {
  readonly request: PendingRequest;
  readonly error: unknown;
}

export interface BulkVerdict {
  readonly verdict: "approve" | "deny";
  readonly note: string;
}

/**
 * @returns verdicts that failed or got no answer; sending them again is idempotent
 */
export function sendAll(
  requests: readonly PendingRequest[],
  { verdict, note }: BulkVerdict,
  onSent: () => void,
): Promise<Failure[]> {
  return forEachOf(requests, async ({ id, arguments_sha256 }) => {
    const body = {
      verdict,
      arguments_sha256,
      ...(note !== "" && { note }),
      // A denial stops a call, which is safe; an approval can be taken back.
      ...(verdict === "approve" && { hold: HOLD }),
    };
    takeRequest(await api.call("POST /requests/{id}/verdict", { path: { id }, body }));
    onSent();
  });
}

/** Runs it for each, a few at once. @returns the failures */
export async function forEachOf(
  requests: readonly PendingRequest[],
  act: (request: PendingRequest) => Promise<void>,
): Promise<Failure[]> {
  const rest = [...requests];
  const failures: Failure[] = [];
  async function work(): Promise<void> {
    for (let request = rest.shift(); request !== undefined; request = rest.shift()) {
      try {
        await act(request);
      } catch (error) {
        failures.push({ request, error });
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return failures;
}
