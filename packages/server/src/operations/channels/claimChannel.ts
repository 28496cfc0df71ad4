import type { Context } from "../../context.ts";
import type { ChannelTarget, StoredChannel } from "../../core/channel.ts";
import { nextSending } from "../../core/channel-pace.ts";
import { isChatKind } from "../../core/chat.ts";
import { attemptDeadline, MESSAGE_LEASE } from "../../core/lease.ts";
import type {
  ChannelMessage,
  DigestMessage,
  RefreshedMessage,
  ResolvedMessage,
} from "../../notify/channel-message.ts";
import { composeCall, type WaitingCall } from "../../steps/channels/composeCall.ts";
import { composeDecision, composeUpdate } from "../../steps/channels/composeUpdate.ts";
import { openTarget } from "../../steps/channels/openTarget.ts";
import {
  type DueAnnouncement,
  endAnnouncements,
  readDueAnnouncements,
  readEarliestDeadline,
} from "../../storage/sql/channels/announcements.ts";
import { readOutdatedPost } from "../../storage/sql/channels/channel-posts.ts";
import { claimChannelRow, lockChannel } from "../../storage/sql/channels/channels.ts";
import { readDueNotice } from "../../storage/sql/channels/decision-notices.ts";
import type { RowKey } from "../../storage/sql/keys.ts";
import type { Transaction } from "../../storage/store.ts";

/** A channel with a message to send. No other replica sends to it until the lease ends. */
export interface ClaimedChannel {
  readonly channel: StoredChannel;
  readonly target: ChannelTarget;
  readonly message: ChannelMessage | ResolvedMessage | RefreshedMessage;
  /** The announcements in the message. */
  readonly announcementIds: readonly string[];
  /** Fence of the claim. A result with an older one is ignored. */
  readonly fence: number;
  /** `Clock.monotonic` by which the sending must end, with a margin to the end of the lease. */
  readonly endsBy: number;
}

/** Undefined: nothing to send now, or another replica is sending. */
export type ChannelClaim = ClaimedChannel | "again" | undefined;

/** Maximum requests that one message names. It announces the others too. */
const DUE_MAX = 1_000;

/**
 * Claims a channel for one message: about the request with the earliest deadline, or about all
 * requests when there are many. When nothing is to be announced now, it claims the channel to
 * update an outdated message. Also records the end of announcements with a resolved request or an
 * ended window.
 *
 * @throws Failure `secret-key` when the key of the target is missing; nothing is claimed
 */
export async function claimChannel(context: Context, key: RowKey): Promise<ChannelClaim> {
  const endsBy = attemptDeadline(context.clock, MESSAGE_LEASE);
  // A power failure that undoes a claim also stopped its process.
  return context.store.transact(async (tx) => {
    const channel = await lockChannel(tx, key);
    const now = await tx.now();
    if (channel === undefined || !isFree(channel, now)) return undefined;
    const due = await readDueAnnouncements(tx, key, now, DUE_MAX);
    const isMore = due.length === DUE_MAX;
    const calls = toCalls(await endStale(tx, key.projectId, due, now));
    const next =
      (await announcement(tx, context, channel, calls, { isMore, now })) ??
      (await update(tx, channel, now)) ??
      (await decision(tx, channel, now));
    if (next === undefined) return isMore && calls.length === 0 ? "again" : undefined;
    const target = openTarget(context, channel);
    await claimChannelRow(tx, key, now + MESSAGE_LEASE.ms);
    return { ...next, channel, target, fence: channel.fence + 1, endsBy };
  }, "process");
}

type NextMessage = Pick<ClaimedChannel, "message" | "announcementIds">;

/** @returns undefined when no request is waiting, or the channel pauses */
async function announcement(
  tx: Transaction,
  { random }: Context,
  channel: StoredChannel,
  calls: readonly WaitingCall[],
  { isMore, now }: Pick<DigestMessage, "isMore" | "now">,
): Promise<NextMessage | undefined> {
  const first = calls[0];
  if (first === undefined) return undefined;
  const turn = nextSending(channel.pace, channel.failures, calls, now, channel.digestMs);
  if (turn.kind === "wait") return undefined;
  if (turn.kind === "one") {
    const nonce = channel.decides ? newNonce(random) : undefined;
    const subject = { ...first, messageId: first.ids[0], nonce };
    const message = await composeCall(tx, channel, subject, now);
    return { message, announcementIds: first.ids };
  }
  const message = await digest(tx, channel, calls, { id: random.uuid(), isMore, now });
  return { message, announcementIds: calls.flatMap(({ ids }) => ids) };
}

/** @returns undefined when every message of the channel is current */
async function update(
  tx: Transaction,
  channel: StoredChannel,
  now: number,
): Promise<NextMessage | undefined> {
  if (!isChatKind(channel.kind)) return undefined;
  const post = await readOutdatedPost(tx, channel);
  if (post === undefined) return undefined;
  return { message: await composeUpdate(tx, channel, post, now), announcementIds: [] };
}

/** @returns undefined when no decision is to be sent, or the channel pauses */
async function decision(
  tx: Transaction,
  channel: StoredChannel,
  now: number,
): Promise<NextMessage | undefined> {
  if (!channel.sendsDecisions) return undefined;
  const notice = await readDueNotice(tx, channel);
  if (notice === undefined) return undefined;
  const due = { since: now, deadlineAt: now + DECISION_WINDOW_MS };
  if (nextSending(channel.pace, channel.failures, [due], now).kind === "wait") return undefined;
  return { message: await composeDecision(tx, channel, notice, now), announcementIds: [] };
}

/** A message about a decision is not urgent. */
const DECISION_WINDOW_MS = 3_600_000;

const NONCE_BYTES = 16;

function newNonce(random: Context["random"]): string {
  return Buffer.from(random.bytes(NONCE_BYTES)).toString("base64url");
}

function isFree({ disabledAt, claimedUntil, retryAt }: StoredChannel, now: number): boolean {
  return disabledAt === null && (claimedUntil ?? 0) <= now && (retryAt ?? 0) <= now;
}

/** @returns announcements that are still to be sent */
async function endStale(
  tx: Transaction,
  projectId: string,
  due: readonly DueAnnouncement[],
  now: number,
): Promise<readonly DueAnnouncement[]> {
  const resolved = due.filter(({ isPending }) => !isPending);
  const pending = due.filter(({ isPending }) => isPending);
  const late = pending.filter(({ deadlineAt }) => deadlineAt <= now);
  await endAnnouncements(tx, projectId, idsOf(resolved), "resolved", now);
  await endAnnouncements(tx, projectId, idsOf(late), "window", now);
  return pending.filter(({ deadlineAt }) => deadlineAt > now);
}

function idsOf(announcements: readonly DueAnnouncement[]): string[] {
  return announcements.map(({ id }) => id);
}

/** Earliest deadline first. */
function toCalls(due: readonly DueAnnouncement[]): WaitingCall[] {
  const calls = new Map<string, WaitingCall>();
  for (const { id, requestId, occasion, nextAt, deadlineAt } of due) {
    const known = calls.get(requestId);
    calls.set(requestId, {
      requestId,
      deadlineAt,
      ids: known === undefined ? [id] : [...known.ids, id],
      isReminder: (known?.isReminder ?? true) && occasion === "reminder",
      isEscalation: (known?.isEscalation ?? false) || occasion.startsWith("escalated:"),
      since: Math.min(known?.since ?? nextAt, nextAt),
    });
  }
  return [...calls.values()].sort((a, b) => a.deadlineAt - b.deadlineAt);
}

async function digest(
  tx: Transaction,
  channel: StoredChannel,
  calls: readonly WaitingCall[],
  more: Pick<DigestMessage, "id" | "isMore" | "now">,
): Promise<DigestMessage> {
  const requestIds = calls.map(({ requestId }) => requestId);
  const earliestDeadlineAt = more.isMore
    ? await readEarliestDeadline(tx, channel, more.now)
    : (calls[0]?.deadlineAt ?? more.now);
  return { kind: "digest", requestIds, earliestDeadlineAt, ...more };
}
