import type { Context } from "../../context.ts";
import { readDueChannels } from "../../storage/sql/channels/channels.ts";
import type { RowKey } from "../../storage/sql/keys.ts";

/** Of one look; what is left over is seen by the next, when some have been served. */
const CHANNELS_MAX = 500;

/**
 * Channels of all projects through which somebody is to be told something now.
 *
 * Called by: the worker that announces.
 */
export async function listDueChannels({
  store,
  clock,
}: Pick<Context, "store" | "clock">): Promise<RowKey[]> {
  return readDueChannels(store, clock.now(), CHANNELS_MAX);
}
