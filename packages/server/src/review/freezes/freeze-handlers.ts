/** Handlers of the freezes. */

import { formatTimestamp, invalidField } from "@countersign/protocol";
import { type BodyReceived, type freezes, writeCursor } from "@countersign/review-api";
import type { Context } from "../../context.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import { type FreezeOrder, freezeCalls } from "../../operations/freezes/freezeCalls.ts";
import { liftFreeze } from "../../operations/freezes/liftFreeze.ts";
import { listFreezes } from "../../operations/freezes/listFreezes.ts";
import { toWireFreeze } from "./freeze-to-wire.ts";

export function freezeHandlers(context: Context): Handlers<typeof freezes> {
  return {
    async listFreezes({ caller, query }) {
      const page = await listFreezes(context, caller, query);
      return {
        freezes: page.freezes.map(toWireFreeze),
        next: writeCursor(page.next),
        now: formatTimestamp(context.clock.now()),
      };
    },

    async freezeCalls({ caller, body, request }) {
      const order = orderOf(body);
      request.subjectId = order.instanceId;
      const frozen = await freezeCalls(context, caller, order);
      const { isNew, denied, isComplete } = frozen;
      return {
        status: isNew ? 201 : 200,
        body: { ...toWireFreeze(frozen), denied, complete: isComplete },
      };
    },

    async liftFreeze({ caller, path }) {
      return toWireFreeze(await liftFreeze(context, caller, path.id));
    },
  };
}

/** @throws Problem `invalid_request` that names the field */
function orderOf({
  scope,
  instance_id: instanceId,
  note,
}: BodyReceived<typeof freezes.freezeCalls>): FreezeOrder {
  if (scope !== "instance" && instanceId !== undefined) {
    throw invalidField("instance_id", "is allowed only with the scope instance");
  }
  if (scope === "instance" && instanceId === undefined) {
    throw invalidField("instance_id", "is required with the scope instance");
  }
  return { scope, instanceId, note };
}
