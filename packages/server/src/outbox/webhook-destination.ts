/**
 * Webhooks as a destination of the outbox. Hosts take turns, each within its limits, so that a long
 * queue at one host does not delay others. A breaker postpones attempts at a failing destination.
 */

import type { Context } from "../context.ts";
import { deliveryWindowEnd } from "../core/delivery-progress.ts";
import { type AttemptOutcome, outcomeStatus, outcomeText } from "../core/notification.ts";
import type { MaybePromise } from "../egress/message.ts";
import {
  type ClaimedNotification,
  claimNotifications,
} from "../operations/deliveries/claimNotifications.ts";
import { type RecordedAttempt, recordAttempt } from "../operations/deliveries/recordAttempt.ts";
import type { Report } from "../report.ts";
import { isClaimCurrent } from "../storage/sql/deliveries/notifications.ts";
import {
  readWaitingInstance,
  readWaitingInstances,
  type WaitingInstance,
} from "../storage/sql/deliveries/waiting-instances.ts";
import type { InstanceKey } from "../storage/sql/keys.ts";
import type { Tracing } from "../tracing.ts";
import type { Signal } from "../wake/wake.ts";
import { readClaim } from "./current-claim.ts";
import { DeliveryQueue } from "./delivery-queue.ts";
import type { Claimed, Destination } from "./destination.ts";
import { endAttemptSpan, startAttemptSpan } from "./trace-attempt.ts";

/** The contract's ten seconds with a margin: DNS, TLS and the response have to fit. */
export const ATTEMPT_MS = 9_000;

/** With less time until the retry window ends, an attempt is not started. */
const ATTEMPT_MS_MIN = 1_000;

/** Without a receiver, a turn only records ends. */
const ENDS_PER_TURN = 200;

/** A page takes about a millisecond, in which the event loop is blocked. */
const INSTANCES_PER_PAGE = 200;

/** Pause between two pages of a long scan, so that requests are served. */
const BATCH_PAUSE_MS = 10;

const SCAN_MS = 1_000;

/** A longer queue is scanned less often. */
const SCAN_MS_PER_ITEM = 1 / 4;

/** Sorts before every instance. */
const NO_INSTANCE: InstanceKey = { projectId: "", instanceId: "" };

const NONE: ReadonlySet<string> = new Set();

interface WebhookClaim extends ClaimedNotification {
  /** Number of removed receivers of this process at the time of the claim. */
  readonly removals: number;
}

export class WebhookDestination
  implements Destination<WaitingInstance, WebhookClaim, AttemptOutcome, RecordedAttempt>
{
  readonly name = "delivery";
  readonly attemptMs = ATTEMPT_MS;
  readonly isSerial = false;
  readonly postponed: AttemptOutcome = { kind: "postponed", delayMs: 1_000 };
  readonly defect: AttemptOutcome = { kind: "unreachable", reason: "internal" };
  readonly queue: DeliveryQueue;
  readonly #context: Context;
  readonly #report: Report;
  /** Ids of notifications that this process attempts or records, by instance. */
  readonly #outstanding = new Map<string, Set<string>>();
  /** Number of receivers that this process removed. */
  #removals = 0;
  /** End of the last page. */
  #scannedTo = NO_INSTANCE;

  constructor(context: Context, report: Report) {
    this.#context = context;
    this.#report = report;
    this.queue = new DeliveryQueue(context.delivery.limits);
  }

  async scan(): Promise<number> {
    const { store, clock } = this.#context;
    const after = this.#scannedTo;
    this.#scannedTo = NO_INSTANCE;
    const page = await readWaitingInstances(store, clock.now(), after, INSTANCES_PER_PAGE);
    for (const instance of page.waiting) this.queue.add(instance);
    this.#scannedTo = page.next ?? NO_INSTANCE;
    const scanMs = Math.max(SCAN_MS, this.queue.size * SCAN_MS_PER_ITEM);
    return clock.now() + (page.next === undefined ? scanMs : BATCH_PAUSE_MS);
  }

  onSignal(signal: Signal): Promise<void> | undefined {
    if (signal.kind === "removed") this.#removals++;
    if (signal.kind === "retryRequested") return this.#retryNow(signal);
    if (signal.kind !== "resolved" || signal.notifies === undefined) return undefined;
    const { projectId, notifies: instanceId } = signal;
    if (this.queue.expect(instanceId)) return Promise.resolve();
    return this.#find({ projectId, instanceId });
  }

  /** The receiver may have changed, and an operator requested an attempt. */
  async #retryNow(instance: InstanceKey): Promise<void> {
    await this.#find(instance);
    this.queue.retryNow(instance.instanceId);
  }

  async #find(instance: InstanceKey): Promise<void> {
    const waiting = await readWaitingInstance(this.#context.store, instance);
    if (waiting !== undefined) this.queue.add(waiting);
  }

  async claim(instance: WaitingInstance, slots: number): Promise<Claimed<WebhookClaim>> {
    const { instanceId, url } = instance;
    const limit = url === null ? ENDS_PER_TURN : slots;
    const before = this.#outstanding.get(instanceId) ?? NONE;
    const removals = this.#removals;
    const { claimed, more } = await claimNotifications(this.#context, instance, limit, before);
    const outstanding = this.#outstanding.get(instanceId) ?? new Set();
    for (const { notification } of claimed) outstanding.add(notification.id);
    if (outstanding.size > 0) this.#outstanding.set(instanceId, outstanding);
    return { claimed: claimed.map((claim) => ({ ...claim, removals })), more };
  }

  attempt(claim: WebhookClaim): Promise<AttemptOutcome> {
    const { tracing } = this.#context;
    return tracing === undefined ? this.#send(claim) : this.#sendTraced(tracing, claim);
  }

  async #sendTraced(tracing: Tracing, claim: WebhookClaim): Promise<AttemptOutcome> {
    const { id, projectId, requestId, instanceId, attempts } = claim.notification;
    const subject = { projectId, requestIds: [requestId] };
    const span = await startAttemptSpan(tracing, this.#context, "countersign.deliver", subject, {
      "countersign.instance.id": instanceId,
      "countersign.event.id": id,
      "countersign.attempt": attempts + 1,
      "http.request.method": "POST",
      "server.address": claim.url?.host,
    });
    const outcome = await this.#send(claim, span.traceparent);
    if (outcome.kind !== "postponed") {
      endAttemptSpan(span, {
        outcome: outcomeText(outcome),
        hasFailed: outcome.kind !== "acknowledged",
        status: outcomeStatus(outcome),
      });
    }
    return outcome;
  }

  async #send(claim: WebhookClaim, traceparent?: string): Promise<AttemptOutcome> {
    const { notification, url, signingKey, endsBy } = claim;
    const { clock, delivery } = this.#context;
    // An attempt ends before the retry window does.
    const timeoutMs = Math.min(ATTEMPT_MS, deliveryWindowEnd(notification) - clock.now());
    if (timeoutMs < ATTEMPT_MS_MIN) return this.postponed;
    if (url === undefined) return { kind: "refused" };
    const { id, body } = notification;
    const isWanted = (leftMs: number) => this.#isWanted(claim, leftMs);
    return delivery.send({
      url,
      signingKey,
      id,
      body,
      timeoutMs,
      endsBy,
      isWanted,
      traceparent,
    });
  }

  /** Without other processes that take leases or remove receivers, no read is needed. */
  #isWanted(claim: WebhookClaim, leftMs: number): MaybePromise<boolean> {
    if (this.#context.store.isExclusive && claim.removals === this.#removals) return true;
    return this.#readWhetherWanted(claim, leftMs);
  }

  /** Reads again when this process removed a receiver during the read. */
  async #readWhetherWanted(claim: WebhookClaim, leftMs: number): Promise<boolean> {
    for (;;) {
      const removals = this.#removals;
      const isWanted = await isStillClaimed(this.#context, claim, leftMs);
      if (!isWanted || removals === this.#removals) return isWanted;
    }
  }

  attempted(instance: WaitingInstance, outcome: AttemptOutcome): void {
    this.queue.attempted(instance, outcome, this.#context.clock.now());
  }

  record(claim: WebhookClaim, outcome: AttemptOutcome): Promise<RecordedAttempt> {
    return recordAttempt(this.#context, claim, outcome);
  }

  report(
    { notification, url }: WebhookClaim,
    outcome: AttemptOutcome,
    result: RecordedAttempt,
    durationMs: number,
  ): void {
    if (outcome.kind === "postponed") return;
    this.#report.deliveryAttempted({
      eventId: notification.id,
      requestId: notification.requestId,
      instanceId: notification.instanceId,
      host: url?.host,
      attempt: notification.attempts + 1,
      outcome: outcomeText(outcome),
      status: outcomeStatus(outcome),
      durationMs,
      retryInMs: result.kind === "retry" ? result.nextAt - this.#context.clock.now() : undefined,
      endedBy: result.kind === "ended" ? result.by : undefined,
    });
  }

  release({ notification: { id, instanceId } }: WebhookClaim): void {
    const outstanding = this.#outstanding.get(instanceId);
    outstanding?.delete(id);
    if (outstanding?.size === 0) this.#outstanding.delete(instanceId);
  }
}

/**
 * True when a claimed notification is still to be attempted. While the attempt waited for a slot,
 * its delivery may have ended or its lease may have expired.
 *
 * @param leftMs maximum duration of the attempt, which its lease must cover
 * @see contract: Events, Delivery rules, 3 and 4
 */
export function isStillClaimed(
  context: Pick<Context, "store" | "clock">,
  { notification, fence }: ClaimedNotification,
  leftMs: number,
): Promise<boolean> {
  return readClaim(context, (reader, now) =>
    isClaimCurrent(reader, notification, fence, Math.ceil(now + leftMs)),
  );
}
