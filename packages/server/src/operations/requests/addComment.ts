/** Comments of reviewers on a request. They are for reviewers: the agent never receives one. */

import { Problem, uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { sha256Hex } from "../../core/digest.ts";
import { assertMayVote } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { currentCaller } from "../../steps/access/currentCaller.ts";
import { type InputKey, inputKey, readUsedKey, storeUsedKey } from "../../steps/access/inputKey.ts";
import {
  countComments,
  insertComment,
  readComments,
  type StoredComment,
} from "../../storage/sql/requests/comments.ts";
import { lockRequest } from "../../storage/sql/requests/requests.ts";
import type { Transaction } from "../../storage/store.ts";
import type { NamedComment } from "./listComments.ts";

/** Maximum comments on one request. */
export const COMMENTS_MAX = 100;

export interface CommentOrder {
  readonly requestId: string;
  readonly text: string;
}

/**
 * Adds a comment to a request, before or after its decision.
 *
 * @param idempotencyKey of this reviewer; undefined: every call adds a comment
 * @returns the comment; for a used key the stored one
 * @throws Problem `forbidden` for a reviewer who may not decide; `not_found`; `invalid_request`
 * when the request has the maximum number of comments; `idempotency_conflict` when the key was used
 * with other input
 */
export async function addComment(
  context: Context,
  caller: ReviewerCaller,
  order: CommentOrder,
  idempotencyKey?: string,
): Promise<NamedComment> {
  assertMayVote(caller);
  const { projectId } = caller;
  const { requestId, text } = order;
  const use = { kind: "comment", input: [requestId, text] } as const;
  const key = inputKey(context, caller, use, idempotencyKey);
  return context.store.transact(async (tx) => {
    const request = await lockRequest(tx, { projectId, id: requestId });
    if (request === undefined) throw new Problem("not_found");
    const current = await currentCaller(tx, caller);
    assertMayVote(current);
    const known = key && (await readKnown(tx, key, requestId));
    if (known !== undefined) return { ...known, reviewer: current.name };
    const counts = await countComments(tx, projectId, [requestId]);
    assertRoom(counts.get(requestId) ?? 0);
    const now = await tx.now();
    const comment: StoredComment = {
      projectId,
      requestId,
      id: uuidV7(now, context.random.bytes(10)),
      reviewerId: current.reviewerId,
      body: JSON.stringify(text),
      writtenAt: now,
    };
    // The lock excludes concurrent exchanges with the same input.
    const created = { id: comment.id, instanceId: request.instanceId, createdAt: now };
    if (key && !(await storeUsedKey(tx, key, created))) throw new Problem("idempotency_conflict");
    await insertComment(tx, comment);
    await appendAudit(tx, context.random, {
      at: now,
      projectId,
      kind: "request.commented",
      actor: `reviewer:${current.reviewerId}`,
      subject: `request:${requestId}`,
      detail: { comment_id: comment.id, comment_sha256: sha256Hex(comment.body) },
    });
    tx.onCommit(() => context.wake.signal({ kind: "voted", projectId, requestId }));
    return { ...comment, reviewer: current.name };
  });
}

async function readKnown(
  tx: Transaction,
  key: InputKey,
  requestId: string,
): Promise<StoredComment | undefined> {
  const commentId = await readUsedKey(tx, key);
  if (commentId === undefined) return undefined;
  const comments = await readComments(tx, { projectId: key.projectId, id: requestId });
  const known = comments.find(({ id }) => id === commentId);
  if (known === undefined) throw new Error("a used key has no comment");
  return known;
}

function assertRoom(count: number): void {
  if (count < COMMENTS_MAX) return;
  const message = `The request has ${COMMENTS_MAX} comments, which is the maximum.`;
  throw new Problem("invalid_request", message, { param: "text" });
}
