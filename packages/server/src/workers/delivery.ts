/**
 * Delivers notifications: claim, attempt, record. The database is the only truth; what is kept
 * here is who may have something due, and it is read again every second (rarer while thousands
 * wait).
 *
 * Destinations are served in turn, each within its limits, so that a long queue at one host is
 * no queue at another. A breaker postpones what a failing destination would be asked in vain.
 */

import type { Context } from "../context.ts";
import { givesUpAt } from "../core/delivery-progress.ts";
import { type AttemptOutcome, outcomeStatus, outcomeText } from "../core/notification.ts";
import type { MaybePromise } from "../egress/message.ts";
import {
  type ClaimedNotification,
  claimNotifications,
} from "../operations/deliveries/claimNotifications.ts";
import { isStillClaimed } from "../operations/deliveries/isStillClaimed.ts";
import {
  findWaitingInstance,
  type InstanceKey,
  listWaitingInstances,
  NO_INSTANCE,
  type WaitingInstance,
} from "../operations/deliveries/listWaitingInstances.ts";
import { type Recorded, recordAttempt } from "../operations/deliveries/recordAttempt.ts";
import type { Report } from "../report.ts";
import type { Worker } from "../timer-loop.ts";
import { DeliveryLine, type Turn } from "./delivery-line.ts";

/** How often the database is asked who waits, for what nobody signalled: retries foremost. */
const SCAN_MS = 1_000;

/** Between two pages of a long answer, so that exchanges are served in between. */
const BREATH_MS = 10;

/** Before looking for room again when nothing has happened that makes some. */
const PAUSE_MS = 50;

/** The longer the line, the longer it takes to look through it, and the rarer it is done. */
const SOON_MS_PER_WAITING = 1 / 500;
const PAUSE_MS_PER_WAITING = 1 / 100;
const SCAN_MS_PER_WAITING = 1 / 4;

/** The contract's ten seconds with a margin: DNS, TLS and the answer have to fit. */
export const ATTEMPT_MS = 9_000;

/** With less time until the retry window ends, an attempt is not started. */
const ATTEMPT_MS_MIN = 1_000;

/** Where there is no receiver any more, ends are recorded without attempts. */
const ENDS_PER_TURN = 200;

const RECORD_TRIES_MAX = 5;
const RECORD_PAUSE_MS = 500;

export function startDelivery(context: Context, report: Report): Worker {
  return new DeliveryWorker(context, report);
}

class DeliveryWorker implements Worker {
  readonly #context: Context;
  readonly #report: Report;
  readonly #line: DeliveryLine;
  /** Ids of notifications that this process attempts or records, by instance. */
  readonly #outstanding = new Map<string, Set<string>>();
  readonly #running = new Set<Promise<void>>();
  readonly #unsubscribe: () => void;
  /** How many receivers were removed by this process. */
  #removals = 0;
  #cancelScan = () => {};
  #cancelPump = () => {};
  #nextPump: "soon" | "later" | undefined;
  #stopped = false;

  constructor(context: Context, report: Report) {
    this.#context = context;
    this.#report = report;
    this.#line = new DeliveryLine(context.delivery.limits);
    this.#unsubscribe = context.wake.onSignal((signal) => {
      if (signal.kind === "resolved" && signal.notifies !== undefined) {
        this.#add({ projectId: signal.projectId, instanceId: signal.notifies });
      }
      if (signal.kind === "hurried") this.#hurry(signal);
      if (signal.kind === "removed") this.#removals++;
    });
    this.#run(this.#scan());
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unsubscribe();
    this.#cancelScan();
    this.#cancelPump();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Keeps track of work until it is over; work reports its own failures. */
  #run(work: Promise<void>): void {
    const tracked: Promise<void> = work.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  /** @param after where the page before ended */
  async #scan(after = NO_INSTANCE): Promise<void> {
    let next: InstanceKey | undefined;
    try {
      const page = await listWaitingInstances(this.#context, after);
      for (const instance of page.waiting) this.#line.add(instance);
      next = page.next;
    } catch (error) {
      this.#report.dependencyFailed("delivery", error);
    }
    if (this.#stopped) return;
    const scanMs = Math.max(SCAN_MS, this.#line.size * SCAN_MS_PER_WAITING);
    const pauseMs = next === undefined ? scanMs : BREATH_MS;
    this.#cancelScan = this.#context.clock.after(pauseMs, () => this.#run(this.#scan(next)));
    this.#pumpSoon();
  }

  #add(instance: InstanceKey): void {
    if (this.#line.expect(instance.instanceId)) this.#pumpSoon();
    else this.#run(this.#find(instance));
  }

  /** Its receiver may be another now, and somebody wants a try at once. */
  #hurry(instance: InstanceKey): void {
    this.#run(this.#find(instance).then(() => this.#line.hurry(instance.instanceId)));
  }

  async #find(instance: InstanceKey): Promise<void> {
    try {
      const waiting = await findWaitingInstance(this.#context, instance);
      if (waiting !== undefined) this.#line.add(waiting);
      this.#pumpSoon();
    } catch (error) {
      this.#report.dependencyFailed("delivery", error);
    }
  }

  /** Being asked again puts nothing off: under load somebody always asks. */
  #pumpSoon(): void {
    if (this.#stopped || this.#nextPump === "soon") return;
    this.#cancelPump();
    this.#pumpAfter("soon", Math.floor(this.#line.size * SOON_MS_PER_WAITING));
  }

  #pumpAfter(next: "soon" | "later", delayMs: number): void {
    this.#nextPump = next;
    this.#cancelPump = this.#context.clock.after(delayMs, () => this.#pump());
  }

  /** Starts whatever there is room for. */
  #pump(): void {
    this.#nextPump = undefined;
    const now = this.#context.clock.now();
    for (const turn of this.#line.turns(now)) this.#run(this.#serve(turn));
    const { size } = this.#line;
    if (size > 0) this.#pumpAfter("later", Math.max(PAUSE_MS, size * PAUSE_MS_PER_WAITING));
  }

  async #serve(turn: Turn): Promise<void> {
    const { instance, places } = turn;
    const { instanceId, url } = instance;
    const limit = url === null ? ENDS_PER_TURN : places.length;
    const outstanding = this.#outstanding.get(instanceId) ?? NOTHING;
    const removals = this.#removals;
    try {
      const claim = await claimNotifications(this.#context, instance, limit, outstanding);
      for (const claimed of claim.claimed) {
        this.#run(this.#attempt(instance, claimed, places.pop(), removals));
      }
      this.#line.served(turn, claim.more);
    } catch (error) {
      // A missing key or an ailing database: what waits goes on waiting.
      this.#report.dependencyFailed("delivery", error);
      this.#line.rest(turn, this.#context.clock.now());
    }
    for (const leave of places) leave();
    this.#pumpSoon();
  }

  async #attempt(
    instance: WaitingInstance,
    claimed: ClaimedNotification,
    leave: (() => void) | undefined,
    removals: number,
  ): Promise<void> {
    const { id, instanceId } = claimed.notification;
    const startedAt = this.#context.clock.now();
    const outstanding = this.#outstanding.get(instanceId) ?? new Set();
    this.#outstanding.set(instanceId, outstanding.add(id));
    try {
      const outcome = leave === undefined ? NO_PLACE : await this.#send(claimed, removals);
      this.#line.ended(instance, outcome, this.#context.clock.now());
      leave?.();
      // Before the record, so that it shares a commit with the claim of what comes next.
      this.#pumpSoon();
      const durationMs = this.#context.clock.now() - startedAt;
      const recorded = await this.#record(claimed, outcome);
      this.#tell(claimed, outcome, recorded, durationMs);
    } catch (error) {
      this.#report.dependencyFailed("delivery", error);
    } finally {
      leave?.();
      outstanding.delete(id);
      if (outstanding.size === 0) this.#outstanding.delete(instanceId);
      this.#pumpSoon();
    }
  }

  /** @param removals how many there had been when it was claimed */
  async #send(claimed: ClaimedNotification, removals: number): Promise<AttemptOutcome> {
    const { notification, url, signingKey, endsBy } = claimed;
    const { clock } = this.#context;
    // With less time than a receiver deserves, it is not its fault if it does not answer in time.
    const isLate = clock.monotonic() > endsBy - ATTEMPT_MS;
    // An attempt ends before the retry window does.
    const timeoutMs = Math.min(ATTEMPT_MS, givesUpAt(notification) - clock.now());
    if (isLate || timeoutMs < ATTEMPT_MS_MIN || this.#stopped) return NO_PLACE;
    if (url === undefined) return { kind: "refused" };
    const { id, body } = notification;
    try {
      const isWanted = (leftMs: number) => this.#isWanted(claimed, removals, leftMs);
      const attempt = { url, signingKey, id, body, timeoutMs };
      return await this.#context.delivery.send({ ...attempt, endsBy, isWanted });
    } catch (error) {
      this.#report.bugFound(error);
      return { kind: "unreachable", reason: "internal" };
    }
  }

  /** Where nobody else takes leases or removes receivers, the database knows no more than this. */
  #isWanted(claimed: ClaimedNotification, removals: number, leftMs: number): MaybePromise<boolean> {
    if (this.#context.store.isExclusive && removals === this.#removals) return true;
    return this.#askWhetherWanted(claimed, leftMs);
  }

  /** Asks again when a receiver was removed here while the answer was on its way. */
  async #askWhetherWanted(claimed: ClaimedNotification, leftMs: number): Promise<boolean> {
    for (;;) {
      const removals = this.#removals;
      const isWanted = await isStillClaimed(this.#context, claimed, leftMs);
      if (!isWanted || removals === this.#removals) return isWanted;
    }
  }

  /** A database that is away for a moment must not cost the receiver a second delivery. */
  async #record(claimed: ClaimedNotification, outcome: AttemptOutcome): Promise<Recorded> {
    for (let tries = 1; ; tries++) {
      try {
        return await recordAttempt(this.#context, claimed, outcome);
      } catch (error) {
        if (tries === RECORD_TRIES_MAX) throw error;
        await new Promise<void>((resolve) => {
          this.#context.clock.after(RECORD_PAUSE_MS, resolve);
        });
      }
    }
  }

  #tell(
    { notification, url }: ClaimedNotification,
    outcome: AttemptOutcome,
    recorded: Recorded,
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
      retryInMs:
        recorded.kind === "retry" ? recorded.nextAt - this.#context.clock.now() : undefined,
      endedBy: recorded.kind === "ended" ? recorded.by : undefined,
    });
  }
}

const NOTHING: ReadonlySet<string> = new Set();

/** Nothing was sent; soon again. */
const NO_PLACE: AttemptOutcome = { kind: "postponed", delayMs: 1_000 };
