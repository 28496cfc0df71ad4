import type { Context } from "../../context.ts";
import type { StoredChannel } from "../../core/channel.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { listChannelsOf } from "../../storage/sql/channels/channels.ts";

/** The channels of the reviewer's project, sorted by name. */
export async function listChannels(
  { store }: Pick<Context, "store">,
  { projectId }: ReviewerCaller,
): Promise<readonly StoredChannel[]> {
  return listChannelsOf(store, projectId);
}
