/**
 * Browsers with web push as a destination of the outbox. Each browser is served one message at a
 * time. First, announced requests are fanned out to the browsers of eligible reviewers.
 */

import type { Context } from "../context.ts";
import { type SendOutcome, sendingStatus, sendingText } from "../core/channel.ts";
import { PUSH_CHANNEL } from "../core/push.ts";
import { type ClaimedPush, claimPush } from "../operations/push/claimPush.ts";
import { endShownPushes } from "../operations/push/endShownPushes.ts";
import { fanOutPushes } from "../operations/push/fanOutPushes.ts";
import { type RecordedPush, recordPush } from "../operations/push/recordPush.ts";
import type { Report } from "../report.ts";
import { readPushedProjects } from "../storage/sql/push/push-messages.ts";
import { readDueSubscriptions } from "../storage/sql/push/push-subscriptions.ts";
import type { Tracing } from "../tracing.ts";
import type { Signal } from "../wake/wake.ts";
import type { Claimed, Destination } from "./destination.ts";
import { type SerialItem, SerialQueue } from "./serial-queue.ts";
import { endAttemptSpan, startAttemptSpan } from "./trace-attempt.ts";

/** Every tenth scan also finds resolved requests without a signal here. */
const SCANS_PER_SWEEP = 10;

/** From DNS to the response. */
const SENDING_MS = 8_000;

/** Maximum browsers that this process serves at the same time. */
const SERVED_MAX = 64;

/** Maximum for one scan. The next scan finds the rest. */
const SUBSCRIPTIONS_MAX = 500;

const SALT_BYTES = 16;

interface OutboxState {
  readonly isStopped: boolean;
}

export class PushDestination
  implements Destination<SerialItem, ClaimedPush, SendOutcome, RecordedPush>
{
  readonly name = "pushing";
  readonly attemptMs = SENDING_MS;
  readonly isSerial = true;
  readonly postponed: SendOutcome = { kind: "unwanted" };
  readonly defect: SendOutcome = { kind: "unreachable", reason: "internal" };
  readonly queue = new SerialQueue<SerialItem>({ totalMax: SERVED_MAX });
  readonly #context: Context;
  readonly #report: Report;
  /** Projects with a subscribed browser, at the last scan. */
  #projects: ReadonlySet<string> = new Set();
  #scans = 0;

  constructor(context: Context, report: Report) {
    this.#context = context;
    this.#report = report;
  }

  async scan(state: OutboxState): Promise<undefined> {
    this.#projects = new Set(await readPushedProjects(this.#context.store));
    const isSweep = this.#scans++ % SCANS_PER_SWEEP === 0;
    for (const projectId of this.#projects) {
      if (isSweep) await endShownPushes(this.#context, { projectId });
      await this.#fanOut(projectId, state);
    }
    if (this.#projects.size > 0) await this.#addDue();
    return undefined;
  }

  onSignal(signal: Signal, state: OutboxState): Promise<void> | undefined {
    if (signal.kind === "opened" || signal.kind === "escalated") {
      const announced = (signal.announces ?? []).find(({ id }) => id === PUSH_CHANNEL);
      return announced && this.#fanOut(announced.projectId, state);
    }
    if (signal.kind !== "resolved" || !this.#projects.has(signal.projectId)) return undefined;
    return this.#end(signal.projectId, signal.requestId);
  }

  async #end(projectId: string, id: string): Promise<void> {
    if ((await endShownPushes(this.#context, { projectId, id })) > 0) await this.#addDue();
  }

  async #fanOut(projectId: string, state: OutboxState): Promise<void> {
    for (let isMore = true; isMore && !state.isStopped; ) {
      const spread = await fanOutPushes(this.#context, projectId);
      this.#add(spread.subscriptionIds);
      isMore = spread.isMore;
    }
  }

  async #addDue(): Promise<void> {
    const { store, clock } = this.#context;
    this.#add(await readDueSubscriptions(store, clock.now(), SUBSCRIPTIONS_MAX));
  }

  #add(ids: readonly string[]): void {
    for (const id of ids) this.queue.add({ id, group: "" });
  }

  async claim({ id }: SerialItem): Promise<Claimed<ClaimedPush>> {
    const claim = await claimPush(this.#context, id);
    if (claim === undefined || claim === "again") return { claimed: [], more: claim === "again" };
    return { claimed: [claim], more: false };
  }

  attempt(claim: ClaimedPush): Promise<SendOutcome> {
    const { tracing } = this.#context;
    return tracing === undefined ? this.#send(claim) : this.#sendTraced(tracing, claim);
  }

  async #sendTraced(tracing: Tracing, claim: ClaimedPush): Promise<SendOutcome> {
    const { subscription, due } = claim;
    const subject = { projectId: due.projectId, requestIds: [due.requestId] };
    const span = await startAttemptSpan(tracing, this.#context, "countersign.notify", subject, {
      "countersign.channel.id": subscription.id,
      "countersign.channel.kind": "push",
      "countersign.message": due.isShown ? "resolved" : "call",
    });
    const outcome = await this.#send(claim);
    endAttemptSpan(span, {
      outcome: sendingText(outcome),
      hasFailed: outcome.kind !== "sent",
      status: sendingStatus(outcome),
    });
    return outcome;
  }

  #send({ target, key, payload, keepS, endsBy }: ClaimedPush): Promise<SendOutcome> {
    const { notifier, random } = this.#context;
    const salt = random.bytes(SALT_BYTES);
    return notifier.push({ target, key, payload, keepS, salt, endsBy, timeoutMs: SENDING_MS });
  }

  record(claim: ClaimedPush, outcome: SendOutcome): Promise<RecordedPush> {
    return recordPush(this.#context, claim, outcome);
  }

  report(
    { subscription, due }: ClaimedPush,
    outcome: SendOutcome,
    result: RecordedPush,
    durationMs: number,
  ): void {
    if (outcome.kind === "unwanted") return;
    this.#report.announced({
      channelId: subscription.id,
      kind: "push",
      durationMs,
      count: 1,
      requestId: due.requestId,
      outcome: sendingText(outcome),
      status: sendingStatus(outcome),
      retryInMs: result.kind === "rests" ? result.ms : undefined,
    });
  }
}
