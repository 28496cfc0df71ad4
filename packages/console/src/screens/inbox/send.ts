/** One verdict on several calls: each is sent by itself, with the digest of its own arguments. */

import { api } from "../../api.ts";
import { takeRequest } from "../../live/pending-list.ts";
import type { PendingRequest } from "../../live/pending-request.ts";
import { latestVerdict } from "../../live/undo.ts";
import { type Failure, forEachOf } from "../../requests/for-each.ts";

/** How long an approval can be taken back. */
const HOLD = "5s";

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
  if (verdict === "approve") latestVerdict.value = requests.map(({ id }) => id);
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
