import type { Context } from "../../context.ts";
import { endAnnouncementsOf } from "../../storage/sql/channels/announcements.ts";
import type { RowKey } from "../../storage/sql/keys.ts";

/** Bounds one transaction. */
const ROWS_MAX = 1_000;

/**
 * Cancels the announcements of a channel. After an interruption, the rest is purged with the
 * requests.
 */
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
