import type { Context } from "../../context.ts";
import {
  retryDelayMs,
  type SendOutcome,
  type StoredChannel,
  sendingStatus,
  sendingText,
} from "../../core/channel.ts";
import { paceAfter } from "../../core/channel-pace.ts";
import { toFraction } from "../../core/retry.ts";
import type { RefreshedMessage, ResolvedMessage } from "../../notify/channel-message.ts";
import { endAnnouncements, endAnnouncementsOf } from "../../storage/sql/channels/announcements.ts";
import { closePost, insertPost, refreshPost } from "../../storage/sql/channels/channel-posts.ts";
import { type AfterSending, updateSending } from "../../storage/sql/channels/channels.ts";
import { endNotice } from "../../storage/sql/channels/decision-notices.ts";
import type { Transaction } from "../../storage/store.ts";
import type { ClaimedChannel } from "./claimChannel.ts";

/** The result for the channel. */
export type RecordedSending =
  | { readonly kind: "sent" }
  | { readonly kind: "rests"; readonly ms: number }
  /** Nothing was sent because of this server. */
  | { readonly kind: "released" }
  /** Another replica has the lease, or the channel was deleted: nothing was recorded. */
  | { readonly kind: "stale" };

/**
 * Records the outcome of a message and releases the channel. Sent announcements end, and a message
 * that can be updated is stored. Everything else is sent after the channel's pause.
 */
export async function recordSending(
  { store, random }: Pick<Context, "store" | "random">,
  { channel, fence, message, announcementIds }: ClaimedChannel,
  outcome: SendOutcome,
): Promise<RecordedSending> {
  const chance = toFraction(random.bytes(4));
  const { projectId } = channel;
  // If a power failure undoes this, the message is sent again.
  const recorded = await store.transact(async (tx): Promise<RecordedSending> => {
    const now = await tx.now();
    const after = next(channel, outcome, message.kind, now, chance);
    if (!(await updateSending(tx, channel, fence, after))) return { kind: "stale" };
    if (outcome.kind === "unwanted") return { kind: "released" };
    if (message.kind === "resolved" || message.kind === "refreshed") {
      if (await recordUpdate(tx, channel, message, outcome, now)) return { kind: "sent" };
    }
    if (message.kind === "decision" && outcome.kind === "sent") {
      await endNotice(tx, channel, message.call.requestId, now);
      return { kind: "sent" };
    }
    if (outcome.kind !== "sent") return { kind: "rests", ms: (after.retryAt ?? now) - now };
    await endAnnouncements(tx, projectId, announcementIds, "sent", now);
    if (message.kind === "call" && outcome.post !== undefined) {
      const { requestId, approvals, buttons } = message;
      const content = { requestId, votes: approvals.given, buttons };
      await insertPost(tx, channel, outcome.post, content, now);
    }
    return { kind: "sent" };
  }, "process");
  if (recorded.kind === "sent" && message.kind === "digest" && message.isMore) {
    await endOthers(store, channel, message.now);
  }
  return recorded;
}

/** @returns false when the message was not updated and still exists */
async function recordUpdate(
  tx: Transaction,
  channel: StoredChannel,
  message: ResolvedMessage | RefreshedMessage,
  { kind }: SendOutcome,
  now: number,
): Promise<boolean> {
  const { post } = message;
  if (kind === "gone") await closePost(tx, channel, post, "gone", now);
  else if (kind !== "sent") return false;
  else if (message.kind === "resolved") await closePost(tx, channel, post, "updated", now);
  else await refreshPost(tx, channel, post, message.call.approvals.given);
  return true;
}

/** Limits one transaction. */
const ROWS_MAX = 1_000;

/** Announcements that a digest only counts as `more`. */
async function endOthers(
  store: Context["store"],
  channel: StoredChannel,
  dueBy: number,
): Promise<void> {
  let ended = ROWS_MAX;
  while (ended === ROWS_MAX) {
    ended = await store.transact(async (tx) => {
      const end = { by: "sent", at: await tx.now(), dueBy } as const;
      return endAnnouncementsOf(tx, channel, end, ROWS_MAX);
    }, "process");
  }
}

function next(
  { failures, retryAt, last, pace, digestMs }: StoredChannel,
  outcome: SendOutcome,
  kind: ClaimedChannel["message"]["kind"],
  now: number,
  chance: number,
): AfterSending {
  if (outcome.kind === "unwanted") return { failures, retryAt, last, pace };
  const result = { at: now, outcome: sendingText(outcome), status: sendingStatus(outcome) };
  // The channel works: only one of its messages is gone.
  if (outcome.kind === "gone") return { failures, retryAt: null, last: result, pace };
  if (outcome.kind === "sent") {
    // Updates do not notify anyone.
    const isUpdate = kind === "resolved" || kind === "refreshed";
    const used = isUpdate ? pace : paceAfter(pace, kind === "digest" ? "digest" : "one", now);
    // A decision does not postpone the next digest.
    const sentAt = kind === "decision" && digestMs !== null ? pace.sentAt : used.sentAt;
    return { failures: 0, retryAt: null, last: result, pace: { ...used, sentAt } };
  }
  const rest = retryDelayMs(failures + 1, outcome, chance);
  return { failures: failures + 1, retryAt: now + rest, last: result, pace };
}
