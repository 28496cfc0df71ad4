/** The reviewers of a project, users and bots, and the groups that its policy may name. */

import * as v from "valibot";
import { operation } from "./operation.ts";
import { REVIEWER_ROLES } from "./roles.ts";
import { body, groupNames, id, named, word } from "./schema.ts";

export const reviewer = v.object({
  id,
  name: v.string(),
  kind: v.picklist(["person", "bot"]),
  role: v.picklist(REVIEWER_ROLES),
  groups: v.array(v.string()),
  /** Whether a user who can sign in is this reviewer; otherwise a token is the only way in. */
  signs_in: v.boolean(),
});

export type Reviewer = v.InferOutput<typeof reviewer>;

export const people = {
  showProject: operation({
    method: "GET",
    path: "/project",
    summary: "Show the project of the credential, and the reviewer that the caller is in it.",
    caller: "reviewer",
    power: "read",
    answers: {
      200: v.object({
        /** Not a UUID. */
        id: v.string(),
        name: v.string(),
        reviewer: named,
        role: v.picklist(REVIEWER_ROLES),
      }),
    },
    errors: [],
  }),

  listReviewers: operation({
    method: "GET",
    path: "/reviewers",
    summary: "List the reviewers of the project.",
    caller: "reviewer",
    power: "read",
    answers: { 200: v.object({ reviewers: v.array(reviewer) }) },
    errors: [],
  }),

  showReviewer: operation({
    method: "GET",
    path: "/reviewers/{id}",
    summary: "Show a reviewer.",
    caller: "reviewer",
    power: "read",
    answers: { 200: reviewer },
    errors: ["not_found"],
  }),

  changeReviewer: operation({
    method: "PATCH",
    path: "/reviewers/{id}",
    summary: "Change the role or the groups of a reviewer.",
    caller: "reviewer",
    power: "people",
    /** In a session, for giving more than the reviewer had. */
    fresh: true,
    body: body({ role: v.optional(word(REVIEWER_ROLES)), groups: v.optional(groupNames) }),
    answers: { 200: reviewer },
    errors: ["forbidden", "not_found"],
  }),

  removeReviewer: operation({
    method: "DELETE",
    path: "/reviewers/{id}",
    summary: "Remove a reviewer from the project.",
    caller: "reviewer",
    power: "people",
    answers: { 204: null },
    errors: ["forbidden", "not_found"],
  }),

  listGroups: operation({
    method: "GET",
    path: "/groups",
    summary: "List the groups that a policy of the project may name.",
    caller: "reviewer",
    power: "read",
    answers: {
      200: v.object({ reviewers: v.array(v.string()), instances: v.array(v.string()) }),
    },
    errors: [],
  }),
};
