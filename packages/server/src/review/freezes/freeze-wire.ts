/**
 * A freeze as reviewers read it.
 */

import { formatTimestamp } from "@countersign/protocol";
import { scopeOf } from "../../core/freeze.ts";
import type { ReviewedFreeze } from "../../operations/freezes/listFreezes.ts";

export function writeFreeze({ freeze, instanceName }: ReviewedFreeze): string {
  const { id, instanceId, note, frozenAt, frozenBy, liftedAt, liftedBy } = freeze;
  // A name is JSON text as it was written, and stays so.
  const instance =
    instanceName === undefined ? "" : `,"instance":{"id":"${instanceId}","name":${instanceName}}`;
  const rest = JSON.stringify({
    ...(note !== null && { note }),
    frozen_at: formatTimestamp(frozenAt),
    frozen_by: frozenBy,
    ...(liftedAt !== null && { lifted_at: formatTimestamp(liftedAt), lifted_by: liftedBy }),
  });
  return `{"id":"${id}","scope":"${scopeOf(freeze)}"${instance},${rest.slice(1)}`;
}
