import type { Context } from "../../context.ts";
import type { SinkKind } from "../../core/audit-stream.ts";
import { readStreamLag } from "../../storage/sql/audit/audit-streams.ts";

/** Ms since the oldest entry was sealed that is not sent, by sink; 0 when all are sent. */
export async function measureStreamLag({
  store,
  clock,
  auditSinks,
}: Pick<Context, "store" | "clock" | "auditSinks">): Promise<Partial<Record<SinkKind, number>>> {
  const lags: Partial<Record<SinkKind, number>> = {};
  for (const { kind } of auditSinks) {
    const since = await readStreamLag(store, kind);
    lags[kind] = since === undefined ? 0 : Math.max(0, clock.now() - since);
  }
  return lags;
}
