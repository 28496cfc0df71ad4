/** Handlers of the comments on requests. */

import { formatTimestamp } from "@countersign/protocol";
import { type Comment, type comments, JsonText, type Writable } from "@countersign/review-api";
import type { Context } from "../../context.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import { addComment } from "../../operations/requests/addComment.ts";
import { listComments, type NamedComment } from "../../operations/requests/listComments.ts";

export function commentHandlers(context: Context): Handlers<typeof comments> {
  return {
    async addComment({ caller, path, body, idempotencyKey }) {
      const order = { requestId: path.id, text: body.text };
      return toWire(await addComment(context, caller, order, idempotencyKey));
    },

    async listComments({ caller, path }) {
      return { comments: (await listComments(context, caller, path.id)).map(toWire) };
    },
  };
}

function toWire({ id, reviewer, writtenAt, body }: NamedComment): Writable<Comment> {
  return { id, reviewer, at: formatTimestamp(writtenAt), text: new JsonText(body) };
}
