/**
 * Tells people what waits for them: claim a channel, send one message, record, and again while
 * something is due. The database is the only truth; who has something due is signalled by what was
 * opened here, and asked every second.
 *
 * Each channel is served on its own, one message at a time: one that is slow, or does not answer,
 * is in nobody's way. Requests that were resolved meanwhile are not told of.
 */

import type { Context } from "../context.ts";
import { type SendOutcome, sendingStatus, sendingText } from "../core/channel.ts";
import { PUSH_CHANNEL } from "../core/push.ts";
import {
  type ChannelClaim,
  type ClaimedChannel,
  claimChannel,
} from "../operations/channels/claimChannel.ts";
import { isStillToTell } from "../operations/channels/isStillToTell.ts";
import { listDueChannels } from "../operations/channels/listDueChannels.ts";
import { type RecordedSending, recordSending } from "../operations/channels/recordSending.ts";
import type { Report } from "../report.ts";
import type { Worker } from "../timer-loop.ts";

const SCAN_MS = 1_000;

/** From DNS to the answer. */
const SENDING_MS = 8_000;

/** Channels of this process that are being served at the same time. */
const SERVED_MAX = 256;

/** Those of one project: however slow its channels are, there is room for others. */
export const SERVED_OF_PROJECT_MAX = 16;

const RECORD_TRIES_MAX = 3;
const RECORD_PAUSE_MS = 500;

interface ChannelKey {
  readonly projectId: string;
  readonly id: string;
}

export function startAnnouncing(context: Context, report: Report): Worker {
  return new AnnouncingWorker(context, report);
}

interface Served {
  readonly projectId: string;
  isAsked: boolean;
}

class AnnouncingWorker implements Worker {
  readonly #context: Context;
  readonly #report: Report;
  /** Channels that are being served, and whether something was signalled since. */
  readonly #served = new Map<string, Served>();
  readonly #running = new Set<Promise<void>>();
  readonly #unsubscribe: () => void;
  #cancelScan = () => {};
  #stopped = false;

  constructor(context: Context, report: Report) {
    this.#context = context;
    this.#report = report;
    this.#unsubscribe = context.wake.onSignal((signal) => {
      if (signal.kind !== "opened") return;
      for (const channel of signal.announces ?? []) {
        if (channel.id !== PUSH_CHANNEL) this.#serve(channel);
      }
    });
    this.#run(this.#scan());
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unsubscribe();
    this.#cancelScan();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Keeps track of work until it is over; work reports its own failures. */
  #run(work: Promise<void>): void {
    const tracked: Promise<void> = work.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  async #scan(): Promise<void> {
    try {
      for (const channel of await listDueChannels(this.#context)) this.#serve(channel);
    } catch (error) {
      this.#report.dependencyFailed("announcing", error);
    }
    if (this.#stopped) return;
    this.#cancelScan = this.#context.clock.after(SCAN_MS, () => this.#run(this.#scan()));
  }

  /** What there is no room for is seen by the next scan. */
  #serve(channel: ChannelKey): void {
    if (this.#stopped) return;
    const served = this.#served.get(channel.id);
    if (served !== undefined) served.isAsked = true;
    else if (this.#hasRoom(channel)) this.#run(this.#serveWhileDue(channel));
  }

  #hasRoom({ projectId }: ChannelKey): boolean {
    if (this.#served.size >= SERVED_MAX) return false;
    const ofProject = this.#served.values().filter((served) => served.projectId === projectId);
    return [...ofProject].length < SERVED_OF_PROJECT_MAX;
  }

  async #serveWhileDue(channel: ChannelKey): Promise<void> {
    const state = { projectId: channel.projectId, isAsked: true };
    this.#served.set(channel.id, state);
    try {
      while (state.isAsked && !this.#stopped) {
        state.isAsked = false;
        const claim = await claimChannel(this.#context, channel);
        if (claim !== undefined) state.isAsked = await this.#follow(claim, state);
      }
    } catch (error) {
      // A missing key or an ailing database: what waits goes on waiting.
      this.#report.dependencyFailed("announcing", error);
    } finally {
      this.#served.delete(channel.id);
    }
  }

  /** @returns whether to look again at once */
  async #follow(
    claim: Exclude<ChannelClaim, undefined>,
    state: { readonly isAsked: boolean },
  ): Promise<boolean> {
    if (claim === "again") return true;
    const startedAt = this.#context.clock.now();
    const outcome = await this.#send(claim);
    const durationMs = this.#context.clock.now() - startedAt;
    const recorded = await this.#record(claim, outcome);
    this.#tell(claim, outcome, recorded, durationMs);
    return recorded.kind === "sent" || state.isAsked;
  }

  async #send(claimed: ClaimedChannel): Promise<SendOutcome> {
    const { target, message, endsBy } = claimed;
    const { clock, notifier } = this.#context;
    // With less time than that it would not be the channel's fault.
    if (clock.monotonic() > endsBy - SENDING_MS || this.#stopped) return { kind: "unwanted" };
    try {
      const isWanted = (leftMs: number) => isStillToTell(this.#context, claimed, leftMs);
      return await notifier.send({ target, message, timeoutMs: SENDING_MS, endsBy, isWanted });
    } catch (error) {
      this.#report.bugFound(error);
      return { kind: "unreachable", reason: "internal" };
    }
  }

  /** A database that is away for a moment must not cost people a second message. */
  async #record(claimed: ClaimedChannel, outcome: SendOutcome): Promise<RecordedSending> {
    for (let tries = 1; ; tries++) {
      try {
        return await recordSending(this.#context, claimed, outcome);
      } catch (error) {
        if (tries === RECORD_TRIES_MAX) throw error;
        await new Promise<void>((resolve) => {
          this.#context.clock.after(RECORD_PAUSE_MS, resolve);
        });
      }
    }
  }

  #tell(
    { channel, message }: ClaimedChannel,
    outcome: SendOutcome,
    recorded: RecordedSending,
    durationMs: number,
  ): void {
    if (outcome.kind === "unwanted") return;
    const isCall = message.kind === "call";
    this.#report.announced({
      channelId: channel.id,
      kind: channel.kind,
      durationMs,
      requestId: isCall ? message.requestId : undefined,
      count: isCall ? 1 : message.kind === "digest" ? message.requestIds.length : 0,
      outcome: sendingText(outcome),
      status: sendingStatus(outcome),
      retryInMs: recorded.kind === "rests" ? recorded.ms : undefined,
    });
  }
}
