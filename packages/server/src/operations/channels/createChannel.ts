import { invalidField, Problem, uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import {
  CHANNELS_PER_PROJECT_MAX,
  type ChannelKind,
  type StoredChannel,
} from "../../core/channel.ts";
import { shownTarget } from "../../core/channel-target.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { assertCanDecide } from "../../steps/channels/assertCanDecide.ts";
import { assertChannelGroups, assertInstances } from "../../steps/channels/assertChannelGroups.ts";
import { completeTarget, type TargetOrder } from "../../steps/channels/completeTarget.ts";
import { targetContext } from "../../steps/channels/openTarget.ts";
import { insertChannel, listChannelsOf, readChannel } from "../../storage/sql/channels/channels.ts";

export type { TargetOrder };

export interface ChannelOrder extends TargetOrder {
  readonly name: string;
  readonly kind: ChannelKind;
  readonly groups: readonly string[];
  readonly includesArguments: boolean;
  readonly decides: boolean;
  readonly sendsDecisions: boolean;
  readonly instanceIds: readonly string[];
  readonly digestMs: number | null;
  readonly remindMs: number | null;
}

export interface CreatedChannel {
  readonly channel: StoredChannel;
  /** Of a generated webhook secret: displayed once. */
  readonly signingSecret: string | undefined;
}

/**
 * Creates a channel, which announces new requests.
 *
 * @throws Problem `forbidden`; `invalid_request` naming the field
 */
export async function createChannel(
  context: Context,
  caller: ReviewerCaller,
  order: ChannelOrder,
): Promise<CreatedChannel> {
  assertMay(caller, "people");
  // Its messages contain calls.
  assertMay(caller, "read");
  assertChannelGroups(order.groups);
  const { target, signingSecret } = completeTarget(context, order.kind, order);
  const { random, keyring, store } = context;
  const { projectId, reviewerId } = caller;
  const { name, kind, groups, includesArguments, decides, remindMs } = order;
  const { sendsDecisions, instanceIds, digestMs } = order;
  if (decides) assertCanDecide(context, { kind, includesArguments }, target);
  const channel = await store.transact(async (tx) => {
    const now = await tx.now();
    await assertInstances(tx, projectId, instanceIds);
    const others = await listChannelsOf(tx, projectId);
    if (others.length >= CHANNELS_PER_PROJECT_MAX) {
      const message = `The project has ${others.length} channels, the maximum. Delete one first.`;
      throw new Problem("invalid_request", message, { param: "name" });
    }
    const id = uuidV7(now, random.bytes(10));
    const isInserted = await insertChannel(tx, {
      id,
      projectId,
      name,
      kind,
      groups,
      includesArguments,
      decides,
      sendsDecisions,
      instanceIds,
      digestMs,
      remindMs,
      targetShown: shownTarget(target),
      encryptedTarget: keyring.encrypt(JSON.stringify(target), targetContext(id)),
      createdAt: now,
      createdBy: `reviewer:${reviewerId}`,
      disabledAt: null,
    });
    if (!isInserted)
      throw invalidField("name", "is already used by another channel of the project");
    await appendAudit(tx, random, {
      at: now,
      projectId,
      kind: "channel.created",
      actor: `reviewer:${reviewerId}`,
      subject: `channel:${id}`,
      detail: {
        name,
        kind,
        groups,
        target: shownTarget(target),
        decisions: decides ? "permitted" : undefined,
        digest_ms: digestMs ?? undefined,
        on_decision: sendsDecisions ? "sent" : undefined,
        instances: instanceIds.length === 0 ? undefined : instanceIds,
      },
    });
    const made = await readChannel(tx, { projectId, id });
    if (made === undefined) throw new Error("the created channel is missing");
    return made;
  });
  return { channel, signingSecret };
}
