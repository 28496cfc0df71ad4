import type { Context } from "../../context.ts";
import { isChannelClaimed } from "../../storage/sql/channels/channels.ts";
import { readRequest } from "../../storage/sql/requests/requests.ts";
import type { Reader } from "../../storage/store.ts";
import type { ClaimedChannel } from "./claimChannel.ts";

/**
 * Whether a message is still to be sent: its request may have been resolved while the way was
 * opened, its channel may be off, or its lease has passed.
 *
 * Called by: the worker that announces, right before the first byte.
 *
 * @param leftMs how long the sending may take; its lease has to last as long
 */
export async function isStillToTell(
  { store, clock }: Pick<Context, "store" | "clock">,
  { channel, fence, message }: ClaimedChannel,
  leftMs: number,
): Promise<boolean> {
  const isCurrent = async (reader: Reader, now: number) => {
    if (!(await isChannelClaimed(reader, channel, fence, Math.ceil(now + leftMs)))) return false;
    if (message.kind !== "call") return true;
    const { projectId } = channel;
    const request = await readRequest(reader, { projectId, id: message.requestId });
    return request?.decision === null && request.deadlineAt > now;
  };
  // Where nobody else can take over, the time here is the time.
  if (store.isExclusive) return isCurrent(store, clock.now());
  return store.transact(async (tx) => isCurrent(tx, await tx.now()), "process");
}
