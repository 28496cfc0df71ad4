/** Sends a message again whose reused connection was closed. */

import type { Clock } from "../clock.ts";
import type { Reply } from "./message.ts";

export interface PostAttempt {
  /** Time limit, ms. */
  readonly timeoutMs: number;
  readonly freshConnection: boolean;
}

/** A shorter second attempt would hardly succeed. */
const RESEND_MS_MIN = 1_000;

/**
 * Posts a message, and once more over a new connection if the server had closed the idle one, most
 * likely before the message arrived. If not, the receiver gets it twice, with the same id.
 *
 * @param timeoutMs time limit of both attempts together
 */
export async function postResending(
  clock: Pick<Clock, "monotonic">,
  timeoutMs: number,
  post: (attempt: PostAttempt) => Promise<Reply>,
): Promise<Reply> {
  const startedAt = clock.monotonic();
  const reply = await post({ timeoutMs, freshConnection: false });
  const leftMs = timeoutMs - (clock.monotonic() - startedAt);
  const isStale = reply.kind === "unreachable" && reply.reason === "stale";
  if (!isStale || leftMs < RESEND_MS_MIN) return reply;
  return post({ timeoutMs: leftMs, freshConnection: true });
}
