import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { StoredChannel } from "../../core/channel.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { endAnnouncementsOf } from "../../storage/sql/channels/announcements.ts";
import { deleteChannel as deleteRow, lockChannel } from "../../storage/sql/channels/channels.ts";
import type { RowKey } from "../../storage/sql/keys.ts";

/** Bounds one transaction. */
const ROWS_MAX = 1_000;

/**
 * Removes a channel. What waited for it is told to nobody through it; what was being sent may still
 * arrive.
 *
 * @returns the channel as it was
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

/** Ends what waits for a channel. Interrupted, the rest is erased with its requests. */
export async function cancelAnnouncements(
  { store }: Pick<Context, "store">,
  channel: RowKey,
): Promise<void> {
  let ended = ROWS_MAX;
  while (ended === ROWS_MAX) {
    ended = await store.transact(async (tx) => {
      const end = { by: "removal", at: await tx.now(), dueBy: Number.POSITIVE_INFINITY } as const;
      return endAnnouncementsOf(tx, channel, end, ROWS_MAX);
    });
  }
}
