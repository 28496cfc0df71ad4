import { firstIdAt } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { readEntryIds } from "../../storage/sql/audit/audit-entries.ts";
import {
  readLog,
  readProjectsWithoutLog,
  readUnsealedLogs,
} from "../../storage/sql/audit/audit-logs.ts";
import { SERVER } from "../../storage/sql/keys.ts";
import { OVERLAP_MS } from "./sealEntries.ts";

/** Another replica that sealed this recently will seal again. */
const AT_WORK_MS = 600;

/** Projects, and `SERVER`, with possibly unsealed entries. The sealing creates missing logs. */
export async function listUnsealedLogs({
  store,
  clock,
}: Pick<Context, "store" | "clock">): Promise<string[]> {
  const now = clock.now();
  const bounds = { recentId: firstIdAt(now - OVERLAP_MS), sealedBefore: now - AT_WORK_MS, now };
  const found = await readUnsealedLogs(store, bounds);
  found.push(...(await readProjectsWithoutLog(store)));
  if ((await readLog(store, SERVER)) === undefined) {
    const [first] = await readEntryIds(store, SERVER, { after: "" }, 1);
    if (first !== undefined) found.push(SERVER);
  }
  return found;
}
