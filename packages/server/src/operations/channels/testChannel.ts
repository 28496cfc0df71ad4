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
 * Sends a message that says it is a test, also through a channel that is disabled or rests.
 *
 * @param begin called before it is sent; what it throws keeps that from happening
 * @returns what happened; never what the other side said, but for its status
 * @throws Problem `forbidden`; `not_found`
 */
export async function testChannel(
  context: Context,
  caller: ReviewerCaller,
  id: string,
  begin: () => void,
): Promise<SendOutcome> {
  assertMay(caller, "people");
  const { store, clock, random, notifier } = context;
  const { projectId, reviewerId } = caller;
  const channel = await readChannel(store, { projectId, id });
  if (channel === undefined) throw new Problem("not_found");
  begin();
  const target = openTarget(context, channel);
  const message: TestMessage = {
    kind: "test",
    id: random.uuid(),
    now: clock.now(),
    channelName: channel.name,
  };
  const outcome = await notifier.send({ target, message, timeoutMs: TEST_MS });
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
