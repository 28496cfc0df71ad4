import { uuidV7 } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { coversRequirement, remindAt } from "../../core/channel.ts";
import { PUSH_CHANNEL } from "../../core/push.ts";
import type { StoredRequest } from "../../core/request.ts";
import type { Requirement } from "../../policy/rule.ts";
import {
  insertAnnouncements,
  type NewAnnouncement,
} from "../../storage/sql/channels/announcements.ts";
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
  { random }: Pick<Context, "random">,
  request: StoredRequest,
  { from }: Requirement,
  { channels, isPushed }: ActiveState,
): Promise<readonly RowKey[]> {
  const covering = channels.filter((channel) => coversRequirement(channel, from));
  // The outbox of web push finds the browsers to notify.
  if (isPushed) covering.push({ id: PUSH_CHANNEL, groups: [], remindMs: null });
  if (covering.length === 0) return [];
  const { id: requestId, projectId, createdAt, deadlineAt } = request;
  const announcements = covering.flatMap((channel): NewAnnouncement[] => {
    const one = { projectId, requestId, channelId: channel.id, createdAt, deadlineAt };
    const id = () => uuidV7(createdAt, random.bytes(10));
    const reminderAt = remindAt(channel, request);
    return [
      { ...one, id: id(), occasion: "opened", nextAt: createdAt },
      ...(reminderAt === undefined
        ? []
        : [{ ...one, id: id(), occasion: "reminder", nextAt: reminderAt } as const]),
    ];
  });
  await insertAnnouncements(tx, announcements);
  return covering.map(({ id }) => ({ projectId, id }));
}
