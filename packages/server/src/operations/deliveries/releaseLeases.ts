import type { Context } from "../../context.ts";
import { readProjectIds } from "../../storage/sql/access/holders.ts";
import { releaseStreams } from "../../storage/sql/audit/audit-streams.ts";
import { releaseChannels } from "../../storage/sql/channels/channels.ts";
import { releaseNotifications } from "../../storage/sql/deliveries/notifications.ts";
import { releaseVerifications } from "../../storage/sql/instances/verifications.ts";
import { SERVER } from "../../storage/sql/keys.ts";
import { releaseSubscriptions } from "../../storage/sql/push/push-subscriptions.ts";

/**
 * Ends the leases of a crashed process. Its notifications, channels and
 * streams become due at once, and the
 * keys of its verifications can be used again. Does nothing where other replicas may run; there,
 * leases expire.
 */
export async function releaseLeases({ store }: Pick<Context, "store">): Promise<void> {
  if (!store.isExclusive) return;
  const projects = await readProjectIds(store);
  await store.transact(async (tx) => {
    const now = await tx.now();
    for (const project of projects) {
      await releaseNotifications(tx, project, now);
      await releaseChannels(tx, project, now);
      await releaseVerifications(tx, project, now);
      await releaseStreams(tx, project, now);
    }
    await releaseStreams(tx, SERVER, now);
    await releaseSubscriptions(tx, now);
  });
}
