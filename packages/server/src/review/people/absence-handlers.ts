/** Handlers of the absences of reviewers. */

import type { absences } from "@countersign/review-api";
import type { Context } from "../../context.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import { listAbsences } from "../../operations/people/listAbsences.ts";
import { endAbsence, setAbsence } from "../../operations/people/setAbsence.ts";
import { toWireAbsence } from "../shared/absence-to-wire.ts";

export function absenceHandlers(context: Context): Handlers<typeof absences> {
  return {
    async listAbsences({ caller }) {
      const now = context.clock.now();
      const all = await listAbsences(context, caller);
      return { absences: all.map((one) => toWireAbsence(one, now)) };
    },

    async setAbsence({ caller, body: { from, until, substitute } }) {
      await setAbsence(context, caller, { from, until, substitute });
      return { set: true };
    },

    async endAbsence({ caller }) {
      return { ended: await endAbsence(context, caller) };
    },

    async setReviewerAbsence({ caller, path, body: { from, until, substitute } }) {
      await setAbsence(context, caller, { from, until, substitute }, path.id);
      return { set: true };
    },

    async endReviewerAbsence({ caller, path }) {
      return { ended: await endAbsence(context, caller, path.id) };
    },
  };
}
