/** Checks that every transition has an audit entry in its transaction. */

import type { Row } from "../../../packages/server/src/storage/store.ts";
import type { Promised } from "../facts.ts";
import type { Change } from "../snapshot.ts";

export const AUDITED: Promised = {
  id: "I15",
  says: "Every transition has its audit entry, in its transaction; no entry is ever taken out.",

  onCommit({ world, snapshot }, { changes, entries }) {
    for (const change of changes) {
      const expected = entryOf(change);
      if (expected === undefined) continue;
      const isThere = entries.some((entry) => isEntry(entry, expected));
      const [kind] = expected;
      world.assert(isThere, "I15", () => `${kind} of ${change.key} has no audit entry`);
    }
    if (entries.length > 0) {
      world.assert(snapshot.isLogWhole, "I15", () => "an audit entry was taken out");
    }
  },
};

type Expected = readonly [kind: string, ...subjects: string[]];

/** A request that was decided at its creation has one entry for both transitions. */
const BOTH = "request.opened and request.resolved";

function isEntry({ kind, subject, detail }: Row, [expected, ...subjects]: Expected): boolean {
  const isBoth = kind === "request.resolved" && String(detail).includes('"opened_by":');
  return (isBoth ? BOTH : kind) === expected && subjects.includes(String(subject));
}

/** The audit kind of a change; undefined when another entry covers it, or it is none. */
function entryOf({ table, key, before, after }: Change): Expected | undefined {
  if (after === undefined) return undefined;
  if (table === "request") {
    const isPending = after.status === "pending";
    if (before === undefined) {
      return [isPending ? "request.opened" : BOTH, `request:${key}`];
    }
    const hasEnded = before.status === "pending" && !isPending;
    return hasEnded ? ["request.resolved", `request:${key}`] : undefined;
  }
  if (table === "instance") {
    if (before === undefined) return ["instance.provisioned", `instance:${key}`];
    const isGone = before.deleted_at === null && after.deleted_at !== null;
    if (isGone) return ["instance.deleted", `instance:${key}`];
    return before.name === after.name ? undefined : ["instance.updated", `instance:${key}`];
  }
  if (table === "receiver") {
    const isNew = before !== undefined && before.registration_id !== after.registration_id;
    return isNew ? ["instance.updated", `instance:${key}`] : undefined;
  }
  if (table === "notification") {
    if (before === undefined || before.ended_at !== null || after.ended_at === null)
      return undefined;
    return ["delivery.ended", `request:${after.request_id}`, `instance:${after.instance_id}`];
  }
  if (table === "call_freeze") {
    return [before === undefined ? "freeze.set" : "freeze.lifted", `freeze:${key}`];
  }
  if (table === "policy_version") return ["policy.published", `policy:${key}`];
  return undefined;
}
