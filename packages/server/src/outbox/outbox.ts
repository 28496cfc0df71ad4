/**
 * Sends the messages that transactions have stored. It takes turns from the queue of a destination,
 * claims due messages under a lease and a fence, attempts them, records the result, and releases
 * the claim. The database is authoritative: signals reduce the delay, and a scan every second finds
 * everything else.
 *
 * @see contract: Events, Delivery rules
 */

import type { Context } from "../context.ts";
import type { Report } from "../report.ts";
import { TimerLoop, type Worker } from "../timer-loop.ts";
import type { AttemptLease, Destination, QueueTurn, Recorded } from "./destination.ts";

const SCAN_MS = 1_000;

/** Interval of checks for free slots without an event. */
const PUMP_MS = 50;

/** A pass takes longer with a longer queue, so passes are then less frequent. */
const SOON_MS_PER_ITEM = 1 / 500;
const PUMP_MS_PER_ITEM = 1 / 100;

/** A short outage of the database must not cause a duplicate message. */
const RECORD_TRIES_MAX = 5;
const RECORD_PAUSE_MS = 500;

export class Outbox<Item, Claim extends AttemptLease, Outcome, Result extends Recorded>
  implements Worker
{
  readonly #clock: Context["clock"];
  readonly #report: Report;
  readonly #destination: Destination<Item, Claim, Outcome, Result>;
  readonly #scans: TimerLoop;
  readonly #running = new Set<Promise<void>>();
  readonly #unsubscribe: () => void;
  #cancelPump = () => {};
  #nextPump: "soon" | "later" | undefined;
  #isStopped = false;

  constructor(
    { clock, wake }: Pick<Context, "clock" | "wake">,
    report: Report,
    destination: Destination<Item, Claim, Outcome, Result>,
  ) {
    this.#clock = clock;
    this.#report = report;
    this.#destination = destination;
    this.#unsubscribe = wake.onSignal((signal) => {
      const work = this.#isStopped ? undefined : destination.onSignal(signal, this);
      if (work !== undefined) this.#run(work.then(() => this.#pumpSoon()));
    });
    this.#scans = new TimerLoop(clock, report, {
      name: destination.name,
      intervalMs: SCAN_MS,
      firstDelayMs: Number.POSITIVE_INFINITY,
      run: () => destination.scan(this).finally(() => this.#pumpSoon()),
    });
    this.#scans.runNow();
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unsubscribe();
    this.#cancelPump();
    await this.#scans.stop();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Tracks running work. After a failure the rows stay due. */
  #run(work: Promise<void>): void {
    const tracked: Promise<void> = work
      .catch((error: unknown) => this.#report.dependencyFailed(this.#destination.name, error))
      .finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  /** A further request does not postpone the pump: under load there is always one. */
  #pumpSoon(): void {
    if (this.#isStopped || this.#nextPump === "soon") return;
    this.#cancelPump();
    this.#pumpAfter("soon", Math.floor(this.#destination.queue.size * SOON_MS_PER_ITEM));
  }

  #pumpAfter(next: "soon" | "later", delayMs: number): void {
    this.#nextPump = next;
    this.#cancelPump = this.#clock.after(delayMs, () => this.#pump());
  }

  /** Starts every turn that has free slots. */
  #pump(): void {
    this.#nextPump = undefined;
    const { queue } = this.#destination;
    for (const turn of queue.turns(this.#clock.now())) this.#run(this.#serve(turn));
    const { size } = queue;
    if (size > 0) this.#pumpAfter("later", Math.max(PUMP_MS, size * PUMP_MS_PER_ITEM));
  }

  async #serve(turn: QueueTurn<Item>): Promise<void> {
    const { item, slots } = turn;
    const { queue, isSerial } = this.#destination;
    try {
      const { claimed, more } = await this.#destination.claim(item, slots.length);
      const attempts = claimed.map((claim) => this.#attempt(item, claim, slots.pop()));
      if (isSerial) {
        const sent = await Promise.all(attempts);
        queue.served(turn, more || sent.includes("sent"));
      } else {
        for (const attempt of attempts) this.#run(attempt.then(() => undefined));
        queue.served(turn, more);
      }
    } catch (error) {
      queue.failed(turn, this.#clock.now());
      throw error;
    } finally {
      for (const release of slots) release();
      this.#pumpSoon();
    }
  }

  /** @returns the kind of the recorded result */
  async #attempt(item: Item, claim: Claim, release: (() => void) | undefined): Promise<string> {
    const clock = this.#clock;
    const destination = this.#destination;
    const startedAt = clock.now();
    try {
      const isPossible = release !== undefined && !this.#isLate(claim);
      const outcome = isPossible ? await this.#send(claim) : destination.postponed;
      destination.attempted?.(item, outcome);
      release?.();
      // Before the record, so that it shares a commit with the next claim.
      this.#pumpSoon();
      const durationMs = clock.now() - startedAt;
      const result = await this.#record(claim, outcome);
      destination.report(claim, outcome, result, durationMs);
      return result.kind;
    } finally {
      release?.();
      destination.release?.(claim);
      this.#pumpSoon();
    }
  }

  /** With less time left than an attempt may take, a timeout would not be the receiver's fault. */
  #isLate({ endsBy }: Claim): boolean {
    return this.#isStopped || this.#clock.monotonic() > endsBy - this.#destination.attemptMs;
  }

  async #send(claim: Claim): Promise<Outcome> {
    try {
      return await this.#destination.attempt(claim);
    } catch (error) {
      this.#report.bugFound(error);
      return this.#destination.defect;
    }
  }

  async #record(claim: Claim, outcome: Outcome): Promise<Result> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#destination.record(claim, outcome);
      } catch (error) {
        if (tries === RECORD_TRIES_MAX) throw error;
        await new Promise<void>((resolve) => {
          this.#clock.after(RECORD_PAUSE_MS, resolve);
        });
      }
    }
  }
}
