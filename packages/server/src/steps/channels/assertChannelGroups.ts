/** Checks the groups and instances of a channel. */

import { invalidField } from "@countersign/protocol";
import { ANY_REVIEWER } from "../../core/channel.ts";
import { assertGroups } from "../../core/groups.ts";
import { readInstances } from "../../storage/sql/instances/instances.ts";
import type { Reader } from "../../storage/store.ts";

/**
 * Checks the groups of a channel; the name for any reviewer is allowed.
 *
 * @throws Problem `invalid_request` with param `groups`
 */
export function assertChannelGroups(groups: readonly string[]): void {
  assertGroups(groups.filter((name) => name !== ANY_REVIEWER));
}

/**
 * Checks that the project has these instances.
 *
 * @throws Problem `invalid_request` with param `instances`
 */
export async function assertInstances(
  reader: Reader,
  projectId: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const found = await readInstances(reader, projectId, [...new Set(ids)]);
  const unknown = ids.find((id) => !found.has(id));
  if (unknown !== undefined) throw invalidField("instances", "must have ids of instances");
}
