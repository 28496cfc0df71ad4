import { formatTimestamp } from "@countersign/protocol";
import type { ShownAbsence, Writable } from "@countersign/review-api";
import { isAbsent } from "../../core/absence.ts";
import type { NamedAbsence } from "../../operations/people/listAbsences.ts";

/** Writes an absence for the reviewer API, with its state at a time. */
export function toWireAbsence(absence: NamedAbsence, now: number): Writable<ShownAbsence> {
  const { reviewerId, reviewer, from, until, substituteId, substitute } = absence;
  return {
    reviewer: { id: reviewerId, name: reviewer },
    from: formatTimestamp(from),
    until: formatTimestamp(until),
    absent: isAbsent(absence, now),
    substitute:
      substituteId === null || substitute === null
        ? undefined
        : { id: substituteId, name: substitute, absent: absence.isSubstituteAbsent },
  };
}
