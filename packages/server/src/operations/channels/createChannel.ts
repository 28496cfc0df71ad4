import { invalidField, Problem, uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Random } from "../../clock.ts";
import type { Context } from "../../context.ts";
import {
  ANY_REVIEWER,
  CHANNELS_PER_PROJECT_MAX,
  type ChannelKind,
  type ChannelTarget,
  type StoredChannel,
} from "../../core/channel.ts";
import { shownTarget } from "../../core/channel-target.ts";
import { assertGroups } from "../../core/groups.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { insertChannel, listChannelsOf, readChannel } from "../../storage/sql/channels/channels.ts";
import { targetContext } from "./claimChannel.ts";

/** What of a target somebody gave; which of it there must be depends on the kind. */
export interface TargetOrder {
  readonly url: string | undefined;
  readonly signingSecret: string | undefined;
  readonly token: string | undefined;
  readonly to: readonly string[] | undefined;
}

export interface ChannelOrder extends TargetOrder {
  readonly name: string;
  readonly kind: ChannelKind;
  readonly groups: readonly string[];
  readonly includesArguments: boolean;
  readonly remindMs: number | null;
}

export interface MadeChannel {
  readonly channel: StoredChannel;
  /** Of a webhook, when it was made here: shown once. */
  readonly signingSecret: string | undefined;
}

/**
 * Makes a channel, which tells of requests that are opened from now on.
 *
 * @throws Problem `forbidden`; `invalid_request` naming the field
 */
export async function createChannel(
  context: Context,
  caller: ReviewerCaller,
  order: ChannelOrder,
): Promise<MadeChannel> {
  assertMay(caller, "people");
  // Its messages tell of calls.
  assertMay(caller, "read");
  assertChannelGroups(order.groups);
  const { target, signingSecret } = completeTarget(context, order.kind, order);
  const { random, keyring, store } = context;
  const { projectId, reviewerId } = caller;
  const { name, kind, groups, includesArguments, remindMs } = order;
  const channel = await store.transact(async (tx) => {
    const now = await tx.now();
    const others = await listChannelsOf(tx, projectId);
    if (others.length >= CHANNELS_PER_PROJECT_MAX) {
      throw invalidField("name", `cannot be added: the project has ${others.length} channels`);
    }
    const id = uuidV7(now, random.bytes(10));
    const isInserted = await insertChannel(tx, {
      id,
      projectId,
      name,
      kind,
      groups,
      includesArguments,
      remindMs,
      targetShown: shownTarget(target),
      encryptedTarget: keyring.encrypt(JSON.stringify(target), targetContext(id)),
      createdAt: now,
      createdBy: `reviewer:${reviewerId}`,
      disabledAt: null,
    });
    if (!isInserted) throw invalidField("name", "is that of another channel of the project");
    await appendAudit(tx, random, {
      at: now,
      projectId,
      kind: "channel.created",
      actor: `reviewer:${reviewerId}`,
      subject: `channel:${id}`,
      detail: { name, kind, groups, target: shownTarget(target) },
    });
    const made = await readChannel(tx, { projectId, id });
    if (made === undefined) throw new Error("a channel that was made is not there");
    return made;
  });
  return { channel, signingSecret };
}

/** @throws Problem `invalid_request` with param `groups` */
export function assertChannelGroups(groups: readonly string[]): void {
  assertGroups(groups.filter((name) => name !== ANY_REVIEWER));
}

const FIELDS: Readonly<Record<ChannelKind, readonly (keyof TargetOrder)[]>> = {
  webhook: ["url", "signingSecret"],
  slack: ["url"],
  ntfy: ["url", "token"],
  email: ["to"],
};

const NAMES: Readonly<Record<keyof TargetOrder, string>> = {
  url: "url",
  signingSecret: "signing_secret",
  token: "token",
  to: "to",
};

/** @throws Problem `invalid_request` naming what is missing, wrong, or not of this kind */
export function completeTarget(
  { random, notifier }: Pick<Context, "random" | "notifier">,
  kind: ChannelKind,
  order: TargetOrder,
): { readonly target: ChannelTarget; readonly signingSecret: string | undefined } {
  for (const field of Object.keys(NAMES) as (keyof TargetOrder)[]) {
    if (order[field] === undefined || FIELDS[kind].includes(field)) continue;
    throw invalidField(NAMES[field], `is not of channels of kind ${kind}`);
  }
  const isMade = kind === "webhook" && order.signingSecret === undefined;
  const signingSecret = isMade ? newSigningSecret(random) : undefined;
  const target = toTarget(kind, order, signingSecret);
  const fault = notifier.faultOf(target);
  if (fault !== undefined) throw invalidField(fault.field, fault.rule);
  return { target, signingSecret };
}

function toTarget(
  kind: ChannelKind,
  { url, signingSecret, token, to }: TargetOrder,
  made: string | undefined,
): ChannelTarget {
  if (kind === "email") return { kind, to: required(to, "to") };
  const known = required(url, "url");
  if (kind === "slack") return { kind, url: known };
  if (kind === "webhook") return { kind, url: known, secret: signingSecret ?? made ?? "" };
  return { kind, url: known, ...(token !== undefined && { token }) };
}

function required<T>(value: T | undefined, param: string): T {
  if (value !== undefined) return value;
  throw new Problem("invalid_request", `${param} is required.`, { param });
}

const SECRET_BYTES = 32;

function newSigningSecret(random: Random): string {
  return `whsec_${Buffer.from(random.bytes(SECRET_BYTES)).toString("base64")}`;
}
