import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { StoredChannel } from "../../core/channel.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { cancelAnnouncements } from "../../steps/channels/cancelAnnouncements.ts";
import { deleteChannel as deleteRow, lockChannel } from "../../storage/sql/channels/channels.ts";

/**
 * Deletes a channel. Its pending announcements are cancelled; a message in flight may still arrive.
 *
 * @returns the deleted channel
 * @throws Problem `forbidden`; `not_found`
 */
export async function deleteChannel(
  context: Context,
  caller: ReviewerCaller,
  id: string,
): Promise<StoredChannel> {
  assertMay(caller, "people");
  const { projectId, reviewerId } = caller;
  const deleted = await context.store.transact(async (tx) => {
    const channel = await lockChannel(tx, { projectId, id });
    if (channel === undefined) throw new Problem("not_found");
    await deleteRow(tx, channel);
    await appendAudit(tx, context.random, {
      at: await tx.now(),
      projectId,
      kind: "channel.deleted",
      actor: `reviewer:${reviewerId}`,
      subject: `channel:${id}`,
      detail: { name: channel.name, kind: channel.kind },
    });
    return channel;
  });
  await cancelAnnouncements(context, { projectId, id });
  return deleted;
}
