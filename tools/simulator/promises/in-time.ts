/** Checks that approvals are made before the deadline, and expiries after it. */

import type { Promised } from "../facts.ts";

export const IN_TIME: Promised = {
  id: "I6",
  says:
    "An approval is made before the deadline, by the database's clock, behind the lock; its end " +
    "is fixed and later than its beginning. Nothing expires before its deadline.",

  onCommit({ world }, { changes, timeReadAt, readAfter }) {
    for (const { table, key, before, after } of changes) {
      if (table !== "request" || after === undefined || after.status === "pending") continue;
      if (before !== undefined && before.status !== "pending") continue;
      const [decided, deadline] = [Number(after.decided_at), Number(after.deadline_at)];
      const expires = after.expires_at === null ? undefined : Number(after.expires_at);
      if (after.status === "approved") {
        world.assert(decided < deadline, "I6", () => `${key} was approved after its deadline`);
        // Others of the same transaction may have read it later.
        const isIn = (readAfter.get(key) ?? timeReadAt) < deadline;
        world.assert(isIn, "I6", () => `${key} was committed after its deadline`);
        const isUsable = expires !== undefined && expires > decided;
        world.assert(isUsable, "I6", () => `the approval of ${key} cannot be used`);
      } else {
        world.assert(expires === undefined, "I6", () => `${key} is ${after.status} until then`);
      }
      const isEarly = after.status === "expired" && decided < deadline;
      world.assert(!isEarly, "I6", () => `${key} expired before its deadline`);
    }
  },
};
