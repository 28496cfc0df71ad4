/** Checks when attempts of an event start and stop. */

import type { Row } from "../../../packages/server/src/storage/store.ts";
import type { Facts, Promised } from "../facts.ts";

const WINDOW_MS = 168 * 3_600_000;

/** From reading the clock to the first byte. */
const ATTEMPT_MS_MAX = 10_000;

export const RETRIES: Promised = {
  id: "I5",
  says:
    "An event is tried until a 2xx, the deletion of its receiver or its instance, or 168 hours. " +
    "It is never tried before its time, and never after that.",

  onCommit(facts, { changes, lastAt }) {
    for (const { table, key, before, after } of changes) {
      if (table !== "notification" || before === undefined || after === undefined) continue;
      const isClaim = Number(after.fence) > Number(before.fence);
      const isEarly = isClaim && Number(before.next_at) > lastAt;
      facts.world.assert(!isEarly, "I5", () => `${key} was claimed before it was due`);
      if (before.ended_at !== null || after.ended_at === null) continue;
      const isRight = mayEnd(facts, after, lastAt);
      facts.world.assert(isRight, "I5", () => `${key} was ended by ${after.ended_by}`);
    }
  },

  onArrival({ world, snapshot, areClocksSet }, { id }) {
    const event = snapshot.get("notification", id);
    const late = world.now - Number(event?.created_at ?? 0) - WINDOW_MS;
    if (!areClocksSet) {
      world.assert(late < ATTEMPT_MS_MAX, "I5", () => `${id} was tried ${late} ms late`);
    }
  },

  atEnd({ world, snapshot }) {
    for (const { id, ended_at: at } of snapshot.all("notification")) {
      world.assert(at !== null, "I5", () => `${id} was never ended`);
    }
  },
};

function mayEnd({ saved, snapshot }: Facts, event: Row, now: number): boolean {
  const instance = snapshot.get("instance", event.instance_id);
  const isBehind = Number(event.delivery_epoch) < Number(instance?.delivery_epoch);
  switch (event.ended_by) {
    case "acknowledged":
      return saved.has(String(event.id));
    case "removal":
      return isBehind;
    case "deletion":
      return isBehind && instance?.deleted_at !== null;
    case "window":
      return now >= Number(event.created_at) + WINDOW_MS;
    default:
      return false;
  }
}
