/**
 * Notification channels as a destination of the outbox. Each channel is served one message at a
 * time, independently of others, so a slow channel delays no other.
 */

import type { Context } from "../context.ts";
import { type SendOutcome, sendingStatus, sendingText } from "../core/channel.ts";
import { PUSH_CHANNEL } from "../core/push.ts";
import { type ClaimedChannel, claimChannel } from "../operations/channels/claimChannel.ts";
import { type RecordedSending, recordSending } from "../operations/channels/recordSending.ts";
import type { Announced, Report } from "../report.ts";
import { isChannelClaimed, readDueChannels } from "../storage/sql/channels/channels.ts";
import type { RowKey } from "../storage/sql/keys.ts";
import { readRequest } from "../storage/sql/requests/requests.ts";
import type { Tracing } from "../tracing.ts";
import type { Signal } from "../wake/wake.ts";
import { readClaim } from "./current-claim.ts";
import type { Claimed, Destination } from "./destination.ts";
import { type SerialItem, SerialQueue } from "./serial-queue.ts";
import { endAttemptSpan, startAttemptSpan } from "./trace-attempt.ts";

/** From DNS to the response. */
const SENDING_MS = 8_000;

/** Maximum channels that this process serves at the same time. */
const SERVED_MAX = 256;

/** Maximum for one project, so that slow channels leave slots for other projects. */
export const SERVED_OF_PROJECT_MAX = 16;

/** Maximum for one scan. The next scan finds the rest. */
const CHANNELS_MAX = 500;

interface Channel extends RowKey, SerialItem {}

export class ChannelDestination
  implements Destination<Channel, ClaimedChannel, SendOutcome, RecordedSending>
{
  readonly name = "announcing";
  readonly attemptMs = SENDING_MS;
  readonly isSerial = true;
  readonly postponed: SendOutcome = { kind: "unwanted" };
  readonly defect: SendOutcome = { kind: "unreachable", reason: "internal" };
  readonly queue = new SerialQueue<Channel>({
    perKeyMax: SERVED_OF_PROJECT_MAX,
    totalMax: SERVED_MAX,
  });
  readonly #context: Context;
  readonly #report: Report;

  constructor(context: Context, report: Report) {
    this.#context = context;
    this.#report = report;
  }

  async scan(): Promise<undefined> {
    const { store, clock } = this.#context;
    for (const channel of await readDueChannels(store, clock.now(), CHANNELS_MAX)) {
      this.#add(channel);
    }
    return undefined;
  }

  onSignal(signal: Signal): Promise<void> | undefined {
    if (signal.kind !== "opened" && signal.kind !== "escalated") return undefined;
    const channels = (signal.announces ?? []).filter(({ id }) => id !== PUSH_CHANNEL);
    for (const channel of channels) this.#add(channel);
    return channels.length === 0 ? undefined : Promise.resolve();
  }

  #add({ projectId, id }: RowKey): void {
    this.queue.add({ projectId, id, group: projectId });
  }

  async claim(channel: Channel): Promise<Claimed<ClaimedChannel>> {
    const claim = await claimChannel(this.#context, channel);
    if (claim === undefined || claim === "again") return { claimed: [], more: claim === "again" };
    return { claimed: [claim], more: false };
  }

  attempt(claim: ClaimedChannel): Promise<SendOutcome> {
    const { tracing } = this.#context;
    return tracing === undefined ? this.#send(claim) : this.#sendTraced(tracing, claim);
  }

  async #sendTraced(tracing: Tracing, claim: ClaimedChannel): Promise<SendOutcome> {
    const { channel, message } = claim;
    const requestIds = requestsOf(message);
    if (requestIds.length === 0) return this.#send(claim);
    const subject = { projectId: channel.projectId, requestIds };
    const span = await startAttemptSpan(tracing, this.#context, "countersign.notify", subject, {
      "countersign.channel.id": channel.id,
      "countersign.channel.kind": channel.kind,
      "countersign.message": message.kind,
    });
    const outcome = await this.#send(claim);
    if (outcome.kind !== "unwanted") {
      endAttemptSpan(span, {
        outcome: sendingText(outcome),
        hasFailed: outcome.kind !== "sent",
        status: sendingStatus(outcome),
      });
    }
    return outcome;
  }

  #send(claim: ClaimedChannel): Promise<SendOutcome> {
    const { channel, target, message, endsBy } = claim;
    const isWanted = (leftMs: number) => this.#isStillWanted(claim, leftMs);
    const { notifier } = this.#context;
    const bounds = { channel, target, timeoutMs: SENDING_MS, endsBy, isWanted };
    if (message.kind === "resolved" || message.kind === "refreshed") {
      return notifier.update({ ...bounds, message });
    }
    return notifier.send({ ...bounds, message });
  }

  /** The request may be resolved, the channel disabled, or the lease over. */
  #isStillWanted({ channel, fence, message }: ClaimedChannel, leftMs: number): Promise<boolean> {
    return readClaim(this.#context, async (reader, now) => {
      const until = Math.ceil(now + leftMs);
      if (!(await isChannelClaimed(reader, channel, fence, until))) return false;
      if (message.kind !== "call") return true;
      const { projectId } = channel;
      const request = await readRequest(reader, { projectId, id: message.requestId });
      return request?.decision === null && request.deadlineAt > now;
    });
  }

  record(claim: ClaimedChannel, outcome: SendOutcome): Promise<RecordedSending> {
    return recordSending(this.#context, claim, outcome);
  }

  report(
    { channel, message }: ClaimedChannel,
    outcome: SendOutcome,
    result: RecordedSending,
    durationMs: number,
  ): void {
    if (outcome.kind === "unwanted") return;
    this.#report.announced({
      channelId: channel.id,
      kind: channel.kind,
      durationMs,
      ...subjectOf(message),
      outcome: sendingText(outcome),
      status: sendingStatus(outcome),
      retryInMs: result.kind === "rests" ? result.ms : undefined,
    });
  }
}

/** The requests that a message is about. A test message has none. */
function requestsOf(message: ClaimedChannel["message"]): readonly string[] {
  switch (message.kind) {
    case "call":
      return [message.requestId];
    case "digest":
      return message.requestIds;
    case "decision":
    case "resolved":
    case "refreshed":
      return [message.call.requestId];
    case "test":
      return [];
  }
}

/** The request of a message, and the number of requests that the message announces. */
function subjectOf(message: ClaimedChannel["message"]): Pick<Announced, "requestId" | "count"> {
  switch (message.kind) {
    case "call":
      return { requestId: message.requestId, count: 1 };
    case "digest":
      return { requestId: undefined, count: message.requestIds.length };
    case "decision":
      return { requestId: message.call.requestId, count: 1 };
    case "resolved":
    case "refreshed":
      return { requestId: message.call.requestId, count: 0 };
    case "test":
      return { requestId: undefined, count: 0 };
  }
}
