/** Checks that a request with a receiver has exactly one event. */

import { formatTimestamp } from "@countersign/protocol";
import type { Promised } from "../facts.ts";

export const ONE_EVENT: Promised = {
  id: "I3",
  says:
    "A request that ends while its instance has a receiver has one event, committed with its " +
    "decision; one that ends with its instance has none.",

  onCommit({ world, snapshot }, { changes }) {
    const ended = new Set<string>();
    for (const { table, key, before, after } of changes) {
      if (table !== "request" || after === undefined || after.status === "pending") continue;
      if (before !== undefined && before.status !== "pending") continue;
      ended.add(key);
      const events = changes.filter(
        (change) => change.table === "notification" && change.after?.request_id === key,
      );
      const expected = snapshot.get("receiver", after.instance_id) === undefined ? 0 : 1;
      const count = () => `${key} ended with ${events.length} events, not ${expected}`;
      world.assert(events.length === expected, "I3", count);
      const [event] = events;
      if (event?.after === undefined) continue;
      const body = JSON.stringify({
        id: event.key,
        type: "request.resolved",
        instance_id: after.instance_id,
        request_id: key,
        created_at: formatTimestamp(Number(after.decided_at)),
      });
      world.assert(event.after.body === body, "I3", () => `the event of ${key} is another one`);
    }
    for (const { table, key, before, after } of changes) {
      if (table !== "notification" || before !== undefined) continue;
      const isOf = ended.has(String(after?.request_id));
      world.assert(isOf, "I3", () => `${key} was written without a decision`);
    }
  },
};
