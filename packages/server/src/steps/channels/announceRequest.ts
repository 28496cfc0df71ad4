/** Schedules the announcements of requests: when they are created, and at steps of escalations. */

import { uuidV7 } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { type ChannelRef, coversRequirement, remindAt } from "../../core/channel.ts";
import { PUSH_CHANNEL } from "../../core/push.ts";
import type { StoredRequest } from "../../core/request.ts";
import type { Requirement } from "../../policy/rule.ts";
import {
  type AnnouncementKind,
  insertAnnouncements,
  type NewAnnouncement,
} from "../../storage/sql/channels/announcements.ts";
import { insertNotices } from "../../storage/sql/channels/decision-notices.ts";
import type { RowKey } from "../../storage/sql/keys.ts";
import type { ActiveState } from "../../storage/sql/policy/active-state.ts";
import type { Transaction } from "../../storage/store.ts";

/**
 * Schedules the announcements of a pending request, in its transaction: one for each channel that
 * covers it, another for its reminder, and one for Web Push. Does nothing without such a channel.
 *
 * @returns the channels
 */
export async function announceRequest(
  tx: Transaction,
  context: Pick<Context, "random">,
  request: StoredRequest,
  { from }: Requirement,
  active: ActiveState,
): Promise<readonly RowKey[]> {
  const occasion = { occasion: "opened", from, at: request.createdAt } as const;
  return announce(tx, context, request, [occasion], active);
}

export interface AppliedEscalation {
  readonly steps: readonly {
    /** Of the steps of the request, from 1. */
    readonly number: number;
    /** "group:x" or "oncall:x" */
    readonly to: string;
    /** Of a step to a schedule. */
    readonly onCall?: readonly string[] | undefined;
  }[];
  readonly now: number;
}

/**
 * Schedules the announcements of steps of an escalation, as {@link announceRequest} does: the
 * channels of a group also send the reminder.
 *
 * @returns the channels
 */
export async function announceEscalation(
  tx: Transaction,
  context: Pick<Context, "random">,
  request: StoredRequest,
  { steps, now }: AppliedEscalation,
  active: ActiveState,
): Promise<readonly RowKey[]> {
  const occasions = steps.map(({ number, to, onCall = [] }): Occasion => {
    return { occasion: `escalated:${number}`, from: [[to, ...onCall]], at: now };
  });
  return announce(tx, context, request, occasions, active);
}

interface Occasion {
  readonly occasion: Exclude<AnnouncementKind, "reminder">;
  /** Sets of `group:x` and `reviewer:y`: the channels that cover them announce the occasion. */
  readonly from: readonly (readonly string[])[];
  /** Epoch ms. */
  readonly at: number;
}

async function announce(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  request: StoredRequest,
  occasions: readonly Occasion[],
  active: ActiveState,
): Promise<readonly RowKey[]> {
  const { id: requestId, projectId, deadlineAt } = request;
  const announced = new Map<string, ChannelRef>();
  const announcements = occasions.flatMap(({ occasion, from, at }) =>
    coveringChannels(active, from, request).flatMap((channel): NewAnnouncement[] => {
      announced.set(channel.id, channel);
      const one = { projectId, requestId, channelId: channel.id, createdAt: at, deadlineAt };
      const id = () => uuidV7(at, random.bytes(10));
      const reminderAt = remindAt(channel, request);
      const first: NewAnnouncement = { ...one, id: id(), occasion, nextAt: at };
      if (reminderAt === undefined || reminderAt < at) return [first];
      return [first, { ...one, id: id(), occasion: "reminder", nextAt: reminderAt }];
    }),
  );
  if (announcements.length > 0) await insertAnnouncements(tx, announcements);
  const notified = [...announced.values()].filter(({ sendsDecisions }) => sendsDecisions);
  const at = occasions[0]?.at ?? request.createdAt;
  const notices = notified.map(({ id: channelId }) => {
    return { channelId, id: uuidV7(at, random.bytes(10)) };
  });
  await insertNotices(tx, projectId, requestId, notices);
  return [...announced.keys()].map((id) => ({ projectId, id }));
}

const WEB_PUSH: ChannelRef = {
  id: PUSH_CHANNEL,
  groups: [],
  instanceIds: [],
  remindMs: null,
  sendsDecisions: false,
};

function coveringChannels(
  { channels, isPushed }: ActiveState,
  from: Requirement["from"],
  { instanceId }: StoredRequest,
): readonly ChannelRef[] {
  const covering = channels.filter((channel) => coversRequirement(channel, { from, instanceId }));
  // The outbox of web push finds the browsers to notify.
  return isPushed ? [...covering, WEB_PUSH] : covering;
}
