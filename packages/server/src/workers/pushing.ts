/**
 * Tells browsers of people what waits for these people, and when it has ended: find out whom, claim
 * a browser, send one message, record, and again while something is due. The database is the only
 * truth; what was opened and resolved here is signalled, and everything is asked every second.
 *
 * Each browser is served on its own, one message at a time.
 */

import type { Context } from "../context.ts";
import { type SendOutcome, sendingStatus, sendingText } from "../core/channel.ts";
import { PUSH_CHANNEL } from "../core/push.ts";
import { type ClaimedPush, claimPush } from "../operations/push/claimPush.ts";
import {
  endShownPushes,
  listDuePushes,
  listPushedProjects,
} from "../operations/push/listDuePushes.ts";
import { recordPush } from "../operations/push/recordPush.ts";
import { spreadPushes } from "../operations/push/spreadPushes.ts";
import type { Report } from "../report.ts";
import type { Worker } from "../timer-loop.ts";

type Signal = Parameters<Parameters<Context["wake"]["onSignal"]>[0]>[0];

const SCAN_MS = 1_000;

/** Every so many looks it is asked what has ended that nobody was woken for. */
const LOOKS_PER_SWEEP = 10;

/** From DNS to the answer. */
const SENDING_MS = 8_000;

/** Browsers of this process that are being served at the same time. */
const SERVED_MAX = 64;

const SALT_BYTES = 16;

export function startPushing(context: Context, report: Report): Worker {
  return new PushingWorker(context, report);
}

class PushingWorker implements Worker {
  readonly #context: Context;
  readonly #report: Report;
  /** Browsers that are being served, and whether something was due since. */
  readonly #served = new Map<string, { isAsked: boolean }>();
  readonly #running = new Set<Promise<void>>();
  readonly #unsubscribe: () => void;
  /** Where somebody is told, as of the last look. */
  #projects: ReadonlySet<string> = new Set();
  #looks = 0;
  #cancelScan = () => {};
  #stopped = false;

  constructor(context: Context, report: Report) {
    this.#context = context;
    this.#report = report;
    this.#unsubscribe = context.wake.onSignal((signal) => this.#hear(signal));
    this.#run(() => this.#scan());
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unsubscribe();
    this.#cancelScan();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Keeps track of work until it is over. A failure is told; what waits goes on waiting. */
  #run(work: () => Promise<void>): void {
    const tracked: Promise<void> = work()
      .catch((error: unknown) => this.#report.dependencyFailed("pushing", error))
      .finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  #hear(signal: Signal): void {
    if (this.#stopped) return;
    if (signal.kind === "opened") {
      for (const { id, projectId } of signal.announces ?? []) {
        if (id === PUSH_CHANNEL) this.#run(() => this.#spread(projectId));
      }
    }
    if (signal.kind === "resolved" && this.#projects.has(signal.projectId)) {
      const { projectId, requestId: id } = signal;
      this.#run(async () => {
        if ((await endShownPushes(this.#context, { projectId, id })) > 0) await this.#serveDue();
      });
    }
  }

  async #scan(): Promise<void> {
    try {
      this.#projects = new Set(await listPushedProjects(this.#context));
      const isSweep = this.#looks++ % LOOKS_PER_SWEEP === 0;
      for (const projectId of this.#projects) {
        if (isSweep) await endShownPushes(this.#context, { projectId });
        await this.#spread(projectId);
      }
      if (this.#projects.size > 0) await this.#serveDue();
    } finally {
      if (!this.#stopped) {
        const scan = () => this.#run(() => this.#scan());
        this.#cancelScan = this.#context.clock.after(SCAN_MS, scan);
      }
    }
  }

  async #spread(projectId: string): Promise<void> {
    for (let isMore = true; isMore && !this.#stopped; ) {
      const spread = await spreadPushes(this.#context, projectId);
      for (const id of spread.subscriptionIds) this.#serve(id);
      isMore = spread.isMore;
    }
  }

  async #serveDue(): Promise<void> {
    for (const id of await listDuePushes(this.#context)) this.#serve(id);
  }

  /** What there is no room for is seen by the next look. */
  #serve(id: string): void {
    if (this.#stopped) return;
    const served = this.#served.get(id);
    if (served !== undefined) served.isAsked = true;
    else if (this.#served.size < SERVED_MAX) this.#run(() => this.#serveWhileDue(id));
  }

  async #serveWhileDue(id: string): Promise<void> {
    const state = { isAsked: true };
    this.#served.set(id, state);
    try {
      while (state.isAsked && !this.#stopped) {
        state.isAsked = false;
        const claim = await claimPush(this.#context, id);
        if (claim === "again") state.isAsked = true;
        else if (claim !== undefined && (await this.#follow(claim))) state.isAsked = true;
      }
    } finally {
      this.#served.delete(id);
    }
  }

  /** @returns whether to look again at once */
  async #follow(claimed: ClaimedPush): Promise<boolean> {
    const { clock } = this.#context;
    const startedAt = clock.now();
    const outcome = await this.#send(claimed);
    const durationMs = clock.now() - startedAt;
    const recorded = await recordPush(this.#context, claimed, outcome);
    if (outcome.kind !== "unwanted") {
      this.#report.announced({
        channelId: claimed.subscription.id,
        kind: "push",
        durationMs,
        count: 1,
        requestId: claimed.due.requestId,
        outcome: sendingText(outcome),
        status: sendingStatus(outcome),
        retryInMs: recorded.kind === "rests" ? recorded.ms : undefined,
      });
    }
    return recorded.kind === "sent";
  }

  async #send({ target, key, payload, keepS, endsBy }: ClaimedPush): Promise<SendOutcome> {
    const { clock, notifier, random } = this.#context;
    // With less time than that it would not be the push service's fault.
    if (clock.monotonic() > endsBy - SENDING_MS || this.#stopped) return { kind: "unwanted" };
    const salt = random.bytes(SALT_BYTES);
    const request = { target, key, payload, keepS, salt, endsBy, timeoutMs: SENDING_MS };
    try {
      return await notifier.push(request);
    } catch (error) {
      this.#report.bugFound(error);
      return { kind: "unreachable", reason: "internal" };
    }
  }
}
