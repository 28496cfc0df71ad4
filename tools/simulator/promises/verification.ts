/** Checks that a failed verification of a receiver changes nothing. */

import type { Facts, Promised } from "../facts.ts";

export const VERIFICATION: Promised = {
  id: "I8",
  says: "An unverified receiver changes nothing: no instance, no name, no receiver.",

  onCommit(facts, { changes }) {
    for (const { table, key, before, after } of changes) {
      if (after === undefined) continue;
      if (table === "receiver" && before?.registration_id !== after.registration_id) {
        assertProved(facts, key, String(after.registration_id));
      }
      if (table === "instance" && before?.name !== after.name) {
        const body = JSON.parse(facts.named.get(String(after.name)) ?? "{}") as Body;
        if (body.delivery) assertProved(facts, key, body.delivery.registration_id);
      }
    }
  },
};

interface Body {
  readonly delivery?: { readonly registration_id: string } | null;
}

function assertProved({ world, proved }: Facts, instanceId: string, registration: string): void {
  const message = () => `${instanceId} was changed by ${registration}, which is not proved`;
  world.assert(proved.has(registration), "I8", message);
}
