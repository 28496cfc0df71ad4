import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { RequestFilter, ResolvedOutline } from "../../core/request-filter.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import {
  countFitting,
  type ResolvedRequest,
  readResolvedRequests,
} from "../../steps/history/readResolvedRequests.ts";
import { LAST_ID, scanHistory } from "../../steps/history/scanHistory.ts";

export type { ResolvedRequest };

export type ExportEvent =
  | { readonly kind: "row"; readonly row: ResolvedRequest }
  | { readonly kind: "damaged"; readonly id: string }
  | { readonly kind: "end"; readonly rows: number };

export interface ExportOrder {
  readonly filter: RequestFilter;
  /** As in the audit log. */
  readonly format: string;
  /** The query, as in the audit log. */
  readonly query: string;
}

/** Receives the rows of an export. */
export interface ExportSink {
  /** Resolves when the next event can be sent. */
  emit(event: ExportEvent): Promise<void>;
  /** Aborted when the client disconnects or the server stops. */
  readonly signal: AbortSignal;
}

/** Maximum size of the requests in memory. */
const BATCH_BYTES_MAX = 1024 * 1024;
const BATCH_ROWS_MAX = 100;

/**
 * All resolved requests of the caller's project that match the filter, latest decision first. The
 * audit entry of the export is committed before the first row is sent.
 *
 * @throws the reason of the signal
 */
export async function exportHistory(
  { store, random }: Pick<Context, "store" | "random">,
  { projectId, reviewerId }: ReviewerCaller,
  { filter, format, query }: ExportOrder,
  { emit, signal }: ExportSink,
): Promise<void> {
  const startedAt = await store.transact(async (tx) => {
    const at = await tx.now();
    await appendAudit(tx, random, {
      at,
      projectId,
      kind: "history.exported",
      actor: `reviewer:${reviewerId}`,
      subject: `reviewer:${reviewerId}`,
      detail: { format, query },
    });
    return at;
  });
  let rows = 0;
  const from = { at: startedAt, id: LAST_ID };
  const scan = { projectId, filter, direction: "older", from } as const;
  for await (const { found } of scanHistory(store, scan)) {
    signal.throwIfAborted();
    for (const batch of batchesOf(found)) {
      const { requests, damaged } = await readResolvedRequests(store, projectId, batch);
      for (const row of requests) {
        signal.throwIfAborted();
        await emit({ kind: "row", row });
      }
      for (const id of damaged) await emit({ kind: "damaged", id });
      rows += requests.length;
    }
  }
  signal.throwIfAborted();
  await emit({ kind: "end", rows });
}

function* batchesOf(outlines: readonly ResolvedOutline[]): Generator<readonly ResolvedOutline[]> {
  for (let from = 0; from < outlines.length; ) {
    const rest = outlines.slice(from, from + BATCH_ROWS_MAX);
    const batch = rest.slice(0, countFitting(rest, BATCH_BYTES_MAX));
    yield batch;
    from += batch.length;
  }
}
