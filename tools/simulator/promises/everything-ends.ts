/** Checks that every request ends and every call is answered once failures stop. */

import type { Promised } from "../facts.ts";

export const EVERYTHING_ENDS: Promised = {
  id: "liveness",
  says: "Once nothing fails any more, everything that is pending ends, and every call is answered.",

  atEnd({ world, snapshot, database }) {
    for (const { id, status } of snapshot.all("request")) {
      world.assert(status !== "pending", "liveness", () => `${id} is still pending`);
    }
    const [delayed] = database.look("select count(*) as n from delayed_verdict");
    world.assert(delayed?.n === 0, "liveness", () => "a verdict is still delayed");
  },
};
