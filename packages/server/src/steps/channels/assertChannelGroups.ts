import { ANY_REVIEWER } from "../../core/channel.ts";
import { assertGroups } from "../../core/groups.ts";

/**
 * Checks the groups of a channel; the name for any reviewer is allowed.
 *
 * @throws Problem `invalid_request` with param `groups`
 */
export function assertChannelGroups(groups: readonly string[]): void {
  assertGroups(groups.filter((name) => name !== ANY_REVIEWER));
}
