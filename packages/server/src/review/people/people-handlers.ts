/** Handlers of the reviewers of a project and of its groups. */

import type { people, Reviewer, Writable } from "@countersign/review-api";
import type { Context } from "../../context.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import { changeReviewer } from "../../operations/people/changeReviewer.ts";
import {
  listGroups,
  listProjectReviewers,
  type ReviewedReviewer,
  showReviewer,
} from "../../operations/people/listProjectReviewers.ts";
import { removeReviewer } from "../../operations/people/removeReviewer.ts";
import { showProject } from "../../operations/people/showProject.ts";

export function peopleHandlers(context: Context): Handlers<typeof people> {
  return {
    async showProject({ caller }) {
      const { projectId, reviewerId, name, role } = caller;
      return {
        id: projectId,
        name: await showProject(context, caller),
        reviewer: { id: reviewerId, name },
        role,
      };
    },

    async listReviewers({ caller }) {
      const reviewers = await listProjectReviewers(context, caller);
      return { reviewers: reviewers.map(toWire) };
    },

    async showReviewer({ caller, path }) {
      return toWire(await showReviewer(context, caller, path.id));
    },

    async changeReviewer({ caller, path, body: { role, groups } }) {
      return toWire(await changeReviewer(context, caller, path.id, { role, groups }));
    },

    async removeReviewer({ caller, path }) {
      await removeReviewer(context, caller, path.id);
      return undefined;
    },

    async listGroups({ caller }) {
      const { reviewers, instances } = await listGroups(context, caller);
      return { reviewers: [...reviewers].sort(), instances: [...instances].sort() };
    },
  };
}

function toWire({ id, name, isBot, role, groups, personId }: ReviewedReviewer): Writable<Reviewer> {
  const kind = isBot ? "bot" : "person";
  return { id, name, kind, role, groups, signs_in: personId !== null };
}
