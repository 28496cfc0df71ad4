/**
 * Rows of the table `active_state_stamp`: a number for each project, and one for the server, that
 * grows with every change of what is active there. A cached active state is valid for as long as
 * the stamp is the same.
 *
 * It is the time of the change, epoch ms, so that no value repeats after the database has lost
 * commits, as after a failover to a standby that had not received the last ones. A count would
 * repeat, and servers would continue to use a cached state that was lost.
 */

import type { Reader, Transaction } from "../store.ts";
import { SERVER } from "./keys.ts";

/**
 * Makes every replica reread the active state. To be called in the transaction of every change
 * of policy versions, freezes and grants.
 *
 * @param projectId or `SERVER`, for all projects
 */
export async function touchActiveState(tx: Transaction, projectId: string): Promise<void> {
  await tx.run(
    `insert into active_state_stamp (project_id, stamp) values ($1, $2)
     on conflict (project_id) do update set stamp = case
       when active_state_stamp.stamp < excluded.stamp then excluded.stamp
       else active_state_stamp.stamp + 1 end`,
    [projectId, await tx.now()],
  );
}

/** The stamp for calls of a project: it grows with its own changes and those of the server. */
export async function readActiveStateStamp(reader: Reader, projectId: string): Promise<number> {
  const row = await reader.get(
    "select sum(stamp) as stamp from active_state_stamp where project_id in ($1, $2)",
    [projectId, SERVER],
  );
  return Number(row?.stamp ?? 0);
}
