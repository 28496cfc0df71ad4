import { readSealedEntries } from "../../audit/sealed-entries.ts";
import { writeStreamEvent } from "../../audit/write-stream-event.ts";
import type { Context } from "../../context.ts";
import type { StreamFormat } from "../../core/audit-stream.ts";
import type { ClaimedStream } from "./claimStream.ts";

/** Many collectors accept at most 1 MB. */
const BATCH_CHARS_MAX = 256 * 1024;

const BATCH_ENTRIES_MAX = 100;

export interface StreamBatch {
  /** Unique for its entries: a receiver may ignore a second one with the same id. */
  readonly id: string;
  /** One event each. */
  readonly lines: readonly string[];
  /** Position after the last entry. */
  readonly next: number;
}

/**
 * The first entries of a claim that are not sent. Leaves out entries that were altered after
 * sealing, so the batch can be empty.
 *
 * @throws Failure `audit` when a seal is missing
 */
export async function readStreamBatch(
  { store }: Pick<Context, "store">,
  { log, position: sent }: Pick<ClaimedStream, "log" | "position">,
  format: StreamFormat,
): Promise<StreamBatch> {
  // A new stream of a pruned log starts at the cut.
  const from = Math.max(sent, log.pruned);
  const lines: string[] = [];
  let [chars, next] = [0, from];
  for await (const { origin, position, entry } of readSealedEntries(store, log, from)) {
    const line = entry && writeStreamEvent(format, { origin, position, entry });
    chars += line?.length ?? 0;
    if (lines.length > 0 && chars > BATCH_CHARS_MAX) break;
    if (line !== undefined) lines.push(line);
    next = position + 1;
    if (next - from === BATCH_ENTRIES_MAX) break;
  }
  return { id: `${log.origin}/${from}-${next - 1}`, lines, next };
}
