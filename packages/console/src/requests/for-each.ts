/** Sends something for several requests, a few at the same time. */

import type { PendingRequest } from "../live/pending-request.ts";

const AT_ONCE = 4;

export interface Failure {
  readonly request: PendingRequest;
  readonly error: unknown;
}

/** @returns the failures */
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
