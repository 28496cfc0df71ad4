/**
 * The active state of an instance: its project's policy and the baseline policy, a freeze, grants,
 * and the channels that notify reviewers of requests.
 */

import type { ChannelRef } from "../../../core/channel.ts";
import type { Reader, Row } from "../../store.ts";
import { readUsedChannels } from "../channels/channels.ts";
import type { InstanceKey } from "../keys.ts";
import { hasPushAudience } from "../push/push-messages.ts";

/** A published version, by its number and the digest of its source. */
export interface ActiveVersion {
  readonly number: number;
  readonly sha256: string;
}

export interface ActiveState {
  /** Null where nothing was published. */
  readonly project: ActiveVersion | null;
  readonly floor: ActiveVersion | null;
  /** Whether a freeze covers the instance. */
  readonly isFrozen: boolean;
  /** Whether there are grants that were not revoked; they may have expired. */
  readonly hasGrants: boolean;
  /** Those of the project that are in use. */
  readonly channels: readonly ChannelRef[];
  /** Whether a reviewer of the project subscribed to Web Push. */
  readonly isPushed: boolean;
}

/** The rows that apply to an instance, and the stamp of the project when they were read. */
export interface CachedActiveState extends ActiveState {
  readonly stamp: number;
}

/**
 * To be sent behind the lock of the instance and not in one statement with it: a statement that
 * waits for a lock sees what was committed before it began, and would miss a freeze since then.
 */
export async function readActiveState(
  reader: Reader,
  { projectId, instanceId }: InstanceKey,
): Promise<ActiveState> {
  const latest = await reader.all(
    `select project_id, number, sha256 from policy_version
     where project_id = $1
         and number = (select max(number) from policy_version where project_id = $1)
       or project_id = ''
         and number = (select max(number) from policy_version where project_id = '')`,
    [projectId],
  );
  const row = await reader.get(
    `select
       (select id from call_freeze where project_id in ($1, '') and instance_id in ($2, '')
         and lifted_at is null limit 1) as freeze_id,
       (select id from call_grant where call_grant.project_id = $1
         and instance_id = $2 and revoked_at is null limit 1) as grant_id`,
    [projectId, instanceId],
  );
  if (row === undefined) throw new Error("a select without a table has one row");
  return {
    project: toVersion(latest.find((version) => version.project_id === projectId)),
    floor: toVersion(latest.find((version) => version.project_id === "")),
    isFrozen: row.freeze_id !== null,
    hasGrants: row.grant_id !== null,
    channels: await readUsedChannels(reader, projectId),
    isPushed: await hasPushAudience(reader, projectId),
  };
}

function toVersion(row: Row | undefined): ActiveVersion | null {
  return row === undefined ? null : { number: Number(row.number), sha256: row.sha256 as string };
}

/** How many instances are cached; each takes some hundred bytes. */
export const ACTIVE_STATES_CACHED_MAX = 10_000;
