import type { SendOutcome } from "../core/channel.ts";
import { parseRetryAfter } from "../core/retry.ts";
import type { Reply } from "../egress/egress-client.ts";

/** Statuses whose `Retry-After` is an instruction to this client. RFC 9110, 15.6.4; RFC 6585, 4. */
const RETRY_LATER = [429, 503];

/**
 * The outcome of a message to a chat service or a collector.
 *
 * @param now epoch ms of the answer
 */
export function toSendOutcome(reply: Reply, now: number): SendOutcome {
  switch (reply.kind) {
    case "refused":
      return { kind: "refused" };
    case "busy":
      return { kind: "unwanted" };
    case "unreachable":
      return { kind: "unreachable", reason: reply.reason };
    case "answered": {
      const { status, retryAfter } = reply;
      if (status >= 200 && status < 300) return { kind: "sent", status };
      const isHonoured = RETRY_LATER.includes(status);
      const retryAfterMs = isHonoured ? parseRetryAfter(retryAfter, now) : undefined;
      return { kind: "rejected", status, retryAfterMs };
    }
  }
}
