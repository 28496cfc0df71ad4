/** Checks that all attempts of an event have one id and one body. */

import type { Promised } from "../facts.ts";
import { signatureOf } from "../receivers.ts";

/** From the signature to the first byte. */
const FRESH_MS_MAX = 12_000;

export const SAME_EVENT: Promised = {
  id: "I9",
  says: "Every attempt of an event has its id and body; timestamp and signature are fresh.",

  onCommit({ world }, { changes }) {
    for (const { table, key, before, after } of changes) {
      if (table !== "notification" || before === undefined || after === undefined) continue;
      world.assert(before.body === after.body, "I9", () => `the body of ${key} changed`);
    }
  },

  onArrival({ world, snapshot, secrets, areClocksSet }, arrival) {
    const { id, body, registrationId, timestampS } = arrival;
    const event = snapshot.get("notification", id);
    world.assert(event?.body === body, "I9", () => `${id} was sent with another body`);
    const signature = signatureOf(secrets.get(registrationId) ?? "", arrival);
    const isSigned = signature === arrival.signature;
    world.assert(isSigned, "I9", () => `${id} was sent with another receiver's signature`);
    const ageMs = Math.abs(world.now - timestampS * 1_000);
    if (!areClocksSet) {
      world.assert(ageMs < FRESH_MS_MAX, "I9", () => `${id} was signed ${ageMs} ms ago`);
    }
  },
};
