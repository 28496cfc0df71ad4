import { Problem, uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Random } from "../../clock.ts";
import type { Actor } from "../../core/actor.ts";
import { toGroups } from "../../core/groups.ts";
import type { ReviewerRole } from "../../core/roles.ts";
import { ensureReviewer, type StoredReviewer } from "../../storage/sql/access/holders.ts";
import type { Transaction } from "../../storage/store.ts";

export interface ReviewerOrder {
  readonly projectId: string;
  readonly name: string;
  /** `reviewer` for a new reviewer when undefined. */
  readonly role: ReviewerRole | undefined;
  /** Empty for a new reviewer when undefined. */
  readonly groups: readonly string[] | undefined;
  readonly isBot: boolean;
}

/**
 * The reviewer with this name, created if missing. An existing one is not changed.
 *
 * @throws Problem `invalid_request` when the reviewer exists with another role, other groups or as
 * a person instead of a bot, or was removed
 */
export async function ensureReviewerAs(
  tx: Transaction,
  random: Random,
  { projectId, name, role, groups, isBot }: ReviewerOrder,
  actor: Actor,
): Promise<StoredReviewer> {
  const at = await tx.now();
  const order = {
    id: uuidV7(at, random.bytes(10)),
    name,
    role: role ?? "reviewer",
    groups: toGroups(groups ?? []),
    isBot,
    personId: null,
  };
  const reviewer = await ensureReviewer(tx, projectId, order, at);
  if (reviewer.id !== order.id) {
    assertUnchanged(reviewer, { role, groups, isBot });
    return reviewer;
  }
  await appendAudit(tx, random, {
    at,
    projectId,
    actor,
    kind: "reviewer.created",
    subject: `reviewer:${reviewer.id}`,
    detail: { role: order.role, groups: order.groups, kind: isBot ? "bot" : undefined },
  });
  return reviewer;
}

/** @throws Problem `invalid_request` when the input differs from the reviewer */
function assertUnchanged(
  reviewer: StoredReviewer,
  { role, groups, isBot }: Pick<ReviewerOrder, "role" | "groups" | "isBot">,
): void {
  const { name } = reviewer;
  if (reviewer.removedAt !== null) {
    const message = `The reviewer ${name} was removed. Names are not reused; choose another one.`;
    throw new Problem("invalid_request", message, { param: "name" });
  }
  if (isBot && !reviewer.isBot) {
    const message = `The reviewer ${name} is a person. Choose another name for the bot.`;
    throw new Problem("invalid_request", message, { param: "name" });
  }
  const hint = "change it with countersign reviewers set";
  if (role !== undefined && role !== reviewer.role) {
    const message = `The reviewer ${name} has the role ${reviewer.role}; ${hint}.`;
    throw new Problem("invalid_request", message, { param: "role" });
  }
  const kept = reviewer.groups.join(", ");
  if (groups !== undefined && toGroups(groups).join(", ") !== kept) {
    const where = kept === "" ? "in no group" : `in the groups ${kept}`;
    const message = `The reviewer ${name} is ${where}; ${hint}.`;
    throw new Problem("invalid_request", message, { param: "groups" });
  }
}
