import { invalidField } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { ChannelTarget, StoredChannel } from "../../core/channel.ts";
import { type ChatTarget, isChatKind } from "../../core/chat.ts";

/**
 * People can decide in messages that show all arguments, and whose events the server can
 * authenticate.
 *
 * @throws Problem `invalid_request` naming the field
 */
export function assertCanDecide(
  { notifier }: Pick<Context, "notifier">,
  { kind, includesArguments }: Pick<StoredChannel, "kind" | "includesArguments">,
  target: ChannelTarget,
): void {
  if (!isChatKind(kind)) throw invalidField("decide", `is not possible for the kind ${kind}`);
  if (!includesArguments) throw invalidField("decide", "requires include_arguments");
  const platform = notifier.platformOf(kind);
  if (platform === undefined) throw invalidField("decide", "requires a server that sends webhooks");
  const fault = platform.decisionFault(target as ChatTarget);
  if (fault !== undefined) throw invalidField(fault.field, fault.rule);
}
