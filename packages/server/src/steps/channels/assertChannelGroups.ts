import { ANY_REVIEWER } from "../../core/channel.ts";
import { assertGroups } from "../../core/groups.ts";

/** @throws Problem `invalid_request` with param `groups` */
export function assertChannelGroups(groups: readonly string[]): void {
  assertGroups(groups.filter((name) => name !== ANY_REVIEWER));
}
