import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { ChannelTarget, StoredChannel } from "../../core/channel.ts";
import { shownTarget } from "../../core/channel-target.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { assertCanDecide } from "../../steps/channels/assertCanDecide.ts";
import { assertChannelGroups, assertInstances } from "../../steps/channels/assertChannelGroups.ts";
import { cancelAnnouncements } from "../../steps/channels/cancelAnnouncements.ts";
import { completeTarget, type TargetOrder } from "../../steps/channels/completeTarget.ts";
import { openTarget, targetContext } from "../../steps/channels/openTarget.ts";
import { lockChannel, updateChannel as writeChannel } from "../../storage/sql/channels/channels.ts";
import { endNoticesOf } from "../../storage/sql/channels/decision-notices.ts";
import type { CreatedChannel } from "./createChannel.ts";

/** Undefined fields stay unchanged. */
export interface ChannelChange extends TargetOrder {
  readonly groups: readonly string[] | undefined;
  readonly includesArguments: boolean | undefined;
  readonly decides: boolean | undefined;
  readonly sendsDecisions: boolean | undefined;
  readonly instanceIds: readonly string[] | undefined;
  readonly digestMs: number | null | undefined;
  readonly remindMs: number | null | undefined;
  readonly isDisabled: boolean | undefined;
}

/**
 * Changes a channel. Groups and reminders apply to new requests; the target and the displayed
 * contents also to pending ones. Disabling the channel ends its pending messages. A new URL
 * deletes the token and the secret, which belong to the old receiver.
 *
 * @throws Problem `forbidden`; `not_found`; `invalid_request` naming the field
 */
export async function updateChannel(
  context: Context,
  caller: ReviewerCaller,
  id: string,
  change: ChannelChange,
): Promise<CreatedChannel> {
  assertMay(caller, "people");
  // Its messages contain calls.
  assertMay(caller, "read");
  if (change.groups !== undefined) assertChannelGroups(change.groups);
  const { projectId, reviewerId } = caller;
  const updated = await context.store.transact(async (tx) => {
    const channel = await lockChannel(tx, { projectId, id });
    if (channel === undefined) throw new Problem("not_found");
    const now = await tx.now();
    await assertInstances(tx, projectId, change.instanceIds ?? []);
    const retargeted = retarget(context, channel, change);
    const { isDisabled = channel.disabledAt !== null } = change;
    const changed: StoredChannel = {
      ...channel,
      ...retargeted.stored,
      groups: change.groups ?? channel.groups,
      includesArguments: change.includesArguments ?? channel.includesArguments,
      decides: change.decides ?? channel.decides,
      sendsDecisions: change.sendsDecisions ?? channel.sendsDecisions,
      instanceIds: change.instanceIds ?? channel.instanceIds,
      digestMs: change.digestMs === undefined ? channel.digestMs : change.digestMs,
      remindMs: change.remindMs === undefined ? channel.remindMs : change.remindMs,
      disabledAt: isDisabled ? (channel.disabledAt ?? now) : null,
    };
    if (changed.decides) assertCanDecide(context, changed, openTarget(context, changed));
    await writeChannel(tx, changed);
    if (!changed.sendsDecisions || isDisabled) await endNoticesOf(tx, changed, now);
    const { groups, targetShown } = changed;
    await appendAudit(tx, context.random, {
      at: now,
      projectId,
      kind: "channel.updated",
      actor: `reviewer:${reviewerId}`,
      subject: `channel:${id}`,
      detail: {
        groups,
        target: targetShown,
        state: isDisabled ? "disabled" : "enabled",
        arguments: changed.includesArguments ? "included" : "left out",
        decisions: changed.decides ? "permitted" : undefined,
        digest_ms: changed.digestMs ?? undefined,
        on_decision: changed.sendsDecisions ? "sent" : undefined,
        instances: changed.instanceIds.length === 0 ? undefined : changed.instanceIds,
        remind_ms: changed.remindMs,
      },
    });
    return { channel: changed, signingSecret: retargeted.signingSecret };
  });
  if (updated.channel.disabledAt !== null) await cancelAnnouncements(context, { projectId, id });
  return updated;
}

interface Retargeted {
  readonly stored: Partial<Pick<StoredChannel, "encryptedTarget" | "targetShown">>;
  readonly signingSecret: string | undefined;
}

function retarget(context: Context, channel: StoredChannel, change: ChannelChange): Retargeted {
  const { url, signingSecret, token, to, slackChannel, appToken } = change;
  const { conversation, publicKey } = change;
  const named = { slackChannel, appToken, conversation, publicKey };
  const changes = { url, signingSecret, token, to, ...named };
  if (Object.values(changes).every((value) => value === undefined)) {
    return { stored: {}, signingSecret: undefined };
  }
  const before = openTarget(context, channel);
  const isSameUrl = url === undefined;
  const order = isSameUrl ? { ...fieldsOf(before), ...defined(changes) } : changes;
  const kept = isSameUrl ? before : undefined;
  const { target, signingSecret: made } = completeTarget(context, channel.kind, order, kept);
  const encryptedTarget = context.keyring.encrypt(
    JSON.stringify(target),
    targetContext(channel.id),
  );
  return { stored: { encryptedTarget, targetShown: shownTarget(target) }, signingSecret: made };
}

function fieldsOf(target: ChannelTarget): TargetOrder {
  return {
    url: "url" in target ? target.url : undefined,
    signingSecret: signingSecretOf(target),
    token: "token" in target ? target.token : undefined,
    to: "to" in target ? target.to : undefined,
    slackChannel: "slackChannel" in target ? target.slackChannel : undefined,
    appToken: "appToken" in target ? target.appToken : undefined,
    conversation: "conversation" in target ? target.conversation : undefined,
    publicKey: "publicKey" in target ? target.publicKey : undefined,
  };
}

function signingSecretOf(target: ChannelTarget): string | undefined {
  if (target.kind === "webhook") return target.secret;
  return target.kind === "slack_app" ? target.signingSecret : undefined;
}

function defined(order: TargetOrder): Partial<TargetOrder> {
  return Object.fromEntries(Object.entries(order).filter(([, value]) => value !== undefined));
}
