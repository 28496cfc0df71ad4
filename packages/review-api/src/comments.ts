/** Comments of reviewers on a request. No answer to an agent contains them. */

import * as v from "valibot";
import { operation } from "./operation.ts";
import { body, id, storable, text, timestamp } from "./schema.ts";

export const COMMENT_CHARS_MAX = 2_000;

const comment = v.object({
  id,
  /** The name of the reviewer. */
  reviewer: v.string(),
  at: timestamp,
  text: v.string(),
});

export type Comment = v.InferOutput<typeof comment>;

export const comments = {
  listComments: operation({
    method: "GET",
    path: "/requests/{id}/comments",
    summary: "List the comments on a request, the earliest first.",
    caller: "reviewer",
    power: "read",
    answers: { 200: v.object({ comments: v.array(comment) }) },
    errors: ["not_found"],
  }),

  addComment: operation({
    method: "POST",
    path: "/requests/{id}/comments",
    summary: "Comment on a request, for other reviewers. The agent does not receive it.",
    caller: "reviewer",
    power: "decide",
    idempotencyKey: "optional",
    body: body({
      text: v.pipe(
        text(COMMENT_CHARS_MAX),
        storable,
        v.check((value) => value.trim() !== "", "must not be blank"),
      ),
    }),
    answers: { 201: comment },
    errors: ["forbidden", "not_found", "idempotency_conflict"],
  }),
};
