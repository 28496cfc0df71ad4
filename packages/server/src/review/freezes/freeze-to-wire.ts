/** Converts a freeze to the reviewer API's form. */

import { formatTimestamp } from "@countersign/protocol";
import { type Freeze, JsonText, type Writable } from "@countersign/review-api";
import { scopeOf } from "../../core/freeze.ts";
import type { ReviewedFreeze } from "../../operations/freezes/listFreezes.ts";

export function toWireFreeze({ freeze, instanceName }: ReviewedFreeze): Writable<Freeze> {
  const { instanceId, liftedAt } = freeze;
  return {
    id: freeze.id,
    scope: scopeOf(freeze),
    instance:
      instanceName === undefined ? undefined : { id: instanceId, name: new JsonText(instanceName) },
    note: freeze.note ?? undefined,
    frozen_at: formatTimestamp(freeze.frozenAt),
    frozen_by: freeze.frozenBy,
    lifted_at: liftedAt === null ? undefined : formatTimestamp(liftedAt),
    lifted_by: freeze.liftedBy ?? undefined,
  };
}
