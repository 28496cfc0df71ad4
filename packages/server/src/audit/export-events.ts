import { firstIdAt } from "@countersign/protocol";
import type { StreamFormat } from "../core/audit-stream.ts";
import type { StoredLog } from "../storage/sql/audit/audit-logs.ts";
import { readFirstPosition } from "../storage/sql/audit/audit-seals.ts";
import type { Reader } from "../storage/store.ts";
import { readSealedEntries } from "./sealed-entries.ts";
import { writeStreamEvent } from "./write-stream-event.ts";

export interface EventRange {
  /** The first position. */
  readonly from?: number | undefined;
  /** Epoch ms: starts with the first seal that has an entry of that time or later. */
  readonly since?: number | undefined;
}

/**
 * The entries of a sealed log as events for a SIEM, one line each. Leaves out entries that were
 * altered after sealing.
 *
 * @throws Failure `audit` when a seal is missing
 */
export async function* exportEvents(
  reader: Reader,
  log: StoredLog,
  format: StreamFormat,
  { from, since }: EventRange,
): AsyncGenerator<string> {
  const { projectId, size } = log;
  const first =
    since === undefined ? 0 : await readFirstPosition(reader, projectId, firstIdAt(since));
  for await (const { entry, ...place } of readSealedEntries(reader, log, from ?? first ?? size)) {
    if (entry !== undefined) yield writeStreamEvent(format, { ...place, entry });
  }
}
