import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { type SendOutcome, sendingStatus, sendingText } from "../../core/channel.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import type { TestMessage } from "../../notify/channel-message.ts";
import { openTarget } from "../../steps/channels/openTarget.ts";
import { readChannel, updateLastSending } from "../../storage/sql/channels/channels.ts";

const TEST_MS = 8_000;

/**
 * Sends a test message, also through a disabled or paused channel.
 *
 * @param onSend called before the message is sent; an error prevents that
 * @returns the outcome, with only the status of the receiver's answer
 * @throws Problem `forbidden`; `not_found`
 */
export async function testChannel(
  context: Context,
  caller: ReviewerCaller,
  id: string,
  onSend: () => void,
): Promise<SendOutcome> {
  assertMay(caller, "people");
  const { store, clock, random, notifier } = context;
  const { projectId, reviewerId } = caller;
  const channel = await readChannel(store, { projectId, id });
  if (channel === undefined) throw new Problem("not_found");
  onSend();
  const target = openTarget(context, channel);
  const message: TestMessage = {
    kind: "test",
    id: random.uuid(),
    now: clock.now(),
    channelName: channel.name,
  };
  const outcome = await notifier.send({ channel, target, message, timeoutMs: TEST_MS });
  await store.transact(async (tx) => {
    const last = {
      at: await tx.now(),
      outcome: sendingText(outcome),
      status: sendingStatus(outcome),
    };
    await updateLastSending(tx, channel, last);
    await appendAudit(tx, random, {
      at: last.at,
      projectId,
      kind: "channel.tested",
      actor: `reviewer:${reviewerId}`,
      subject: `channel:${id}`,
      detail: { outcome: last.outcome, status: last.status },
    });
  });
  return outcome;
}
