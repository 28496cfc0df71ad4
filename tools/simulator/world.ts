/**
 * Simulated time and scheduling. A simulated process waits for turns. The scheduler gives one turn
 * at a time, to a random process, and all its effects happen before the next turn. So a seed always
 * produces the same schedule.
 */

import type { Draw } from "./draw.ts";

/** Takes turns: one process of a replica from its start to its end, a client, a wire. */
export interface Actor {
  readonly name: string;
  /** False for good: it takes no turn any more. */
  isAlive: boolean;
  /** It takes no turn for now, and does not know. */
  isFrozen: boolean;
}

interface Turn {
  readonly actor: Actor;
  readonly what: string;
  readonly go: () => void;
  /** Of a timer: {@link World.elapsedMs} when it was due. */
  readonly at?: number;
}

interface Timer extends Turn {
  readonly at: number;
  isCancelled: boolean;
}

/** A promise did not hold. */
export class Broken extends Error {
  readonly promise: string;

  constructor(promise: string, message: string) {
    super(`${promise}: ${message}`);
    this.promise = promise;
  }
}

export interface WorldOptions {
  readonly draw: Draw;
  /** How much time passes at a turn, ms, on average. */
  readonly paceMs: number;
  /** Keeps what happened; without it only its digest is kept. */
  readonly isTraced: boolean;
}

/** 1 January 2026. */
const BEGINNING = Date.UTC(2026, 0, 1);

/**
 * How much of a turn's time one of timers takes: mostly they find that there is nothing to do, and
 * would otherwise take all turns of a slow world.
 */
const TIMER_TURN_SHARE = 0.1;

export class World {
  readonly draw: Draw;
  /** Milliseconds since the beginning, by a monotonic clock. */
  elapsedMs = 0;
  /** How far the clock of the database was set ahead. */
  aheadMs = 0;
  /** {@link elapsedMs} when a clock was last set by more than its margin. */
  clockSetAt = Number.NEGATIVE_INFINITY;
  /** Turns of the schedule. */
  turns = 0;
  paceMs: number;
  /** How likely a read is asked in a turn of its own, and answered in another one. */
  awaitsReads = 0.35;
  /** How likely all that waits for a process is heard in one turn of its loop. */
  togetherness = 0;
  readonly trace: string[] = [];
  readonly counts: Record<string, number> = {};
  /** The first promise that did not hold. */
  broken: Broken | undefined;
  /** Processes right after an irreversible step such as a commit: the worst moment for a fault. */
  readonly exposed = new Set<Actor>();
  /** Called after every turn, with time as it is then. */
  onTurn = () => {};
  readonly #isTraced: boolean;
  readonly #ready: Turn[] = [];
  /** The next one last. */
  readonly #timers: Timer[] = [];
  /** Whether the last turn was one of timers. */
  #hasLooked = false;
  #digest = 0x811c_9dc5;
  #isEnded = false;

  constructor({ draw, paceMs, isTraced }: WorldOptions) {
    this.draw = draw;
    this.paceMs = paceMs;
    this.#isTraced = isTraced;
  }

  /** The clock of the database, epoch ms. */
  get now(): number {
    return BEGINNING + Math.floor(this.elapsedMs) + this.aheadMs;
  }

  /** Of everything that happened so far: the same for the same schedule. */
  get digest(): string {
    return (this.#digest >>> 0).toString(16).padStart(8, "0");
  }

  /** Whether an actor could take a turn without time passing. */
  get isBusy(): boolean {
    return this.#ready.some(isAble);
  }

  /** Resolves when the actor is given its turn; never, if it ends before that. */
  turn(actor: Actor, what: string): Promise<void> {
    return new Promise((go) => this.schedule(actor, what, go));
  }

  /** As {@link turn}, for work without a promise. */
  schedule(actor: Actor, what: string, go: () => void): void {
    if (actor.isAlive) this.#ready.push({ actor, what, go });
  }

  /** @returns cancels it */
  after(actor: Actor, delayMs: number, what: string, go: () => void): () => void {
    const at = this.elapsedMs + Math.max(0, delayMs);
    const timer: Timer = { actor, what, go, at, isCancelled: false };
    let place = this.#timers.length;
    while (place > 0 && (this.#timers[place - 1] as Timer).at <= at) place--;
    this.#timers.splice(place, 0, timer);
    return () => {
      timer.isCancelled = true;
    };
  }

  sleep(actor: Actor, delayMs: number, what: string): Promise<void> {
    return new Promise((go) => void this.after(actor, delayMs, what, go));
  }

  /** Counts what happened, for an idea of what was tried. */
  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  /** Ends the schedule that a seed always produces: what happens afterwards is not written down. */
  endSchedule(): void {
    this.#isEnded = true;
  }

  /** Writes down what happened. */
  note(actor: Pick<Actor, "name">, what: string): void {
    if (this.#isEnded) return;
    const line = `${this.turns} +${Math.floor(this.elapsedMs)} ${actor.name}: ${what}`;
    let digest = this.#digest;
    for (let i = 0; i < line.length; i++) {
      digest = Math.imul(digest ^ line.charCodeAt(i), 0x0100_0193);
    }
    this.#digest = digest;
    if (this.#isTraced) this.trace.push(line);
  }

  /** Ends the run: the first broken promise is reported. */
  fail(promise: string, message: string): void {
    this.broken ??= new Broken(promise, message);
    this.note(BROKEN, this.broken.message);
  }

  assert(holds: boolean, promise: string, message: () => string): void {
    if (!holds) this.fail(promise, message());
  }

  /** All time at once, as a long sleep of the whole machine. */
  leap(ms: number): void {
    this.note(TIME, `leaps ${ms} ms`);
    this.elapsedMs += ms;
  }

  setDatabaseClock(ms: number): void {
    this.note(TIME, `sets the database's clock by ${ms} ms`);
    this.aheadMs += ms;
    this.clockSetAt = this.elapsedMs;
  }

  /** One turn, or time passes until there is one. @returns false when nothing is left to come */
  async step(): Promise<boolean> {
    this.#pass();
    this.#ring();
    let able = this.#ready.filter(isAble);
    if (able.length === 0) {
      // An actor that gathers the arrivals of one turn starts in the next.
      await new Promise((resolve) => setImmediate(resolve));
      able = this.#ready.filter(isAble);
    }
    if (able.length === 0) {
      const next = this.#nextTimer();
      if (next === undefined) return false;
      this.elapsedMs = Math.max(this.elapsedMs, next.at);
      this.#ring();
      able = this.#ready.filter(isAble);
    }
    if (able.length > 0) {
      this.#give(able, this.draw.among(able));
    }
    // All that follows from it by itself happens before this comes back.
    await new Promise((resolve) => setImmediate(resolve));
    this.onTurn();
    return true;
  }

  /** Removes the turns and timers of dead actors. */
  dropDead(): void {
    const living = this.#ready.filter(({ actor }) => actor.isAlive);
    this.#ready.splice(0, Number.POSITIVE_INFINITY, ...living);
    const timers = this.#timers.filter(({ actor }) => actor.isAlive);
    this.#timers.splice(0, Number.POSITIVE_INFINITY, ...timers);
  }

  #pass(): void {
    const part = this.draw.fraction();
    const paceMs = this.#hasLooked ? this.paceMs * TIMER_TURN_SHARE : this.paceMs;
    // Mostly little, sometimes much more than on average.
    this.elapsedMs += paceMs * 4 * part ** 4;
  }

  /** Timers that are due take their turn like others: no callback is on time. */
  #ring(): void {
    for (let place = this.#timers.length - 1; place >= 0; place--) {
      const timer = this.#timers[place] as Timer;
      if (timer.at > this.elapsedMs) return;
      if (timer.actor.isFrozen && !timer.isCancelled && timer.actor.isAlive) continue;
      this.#timers.splice(place, 1);
      if (timer.isCancelled || !timer.actor.isAlive) continue;
      const go = () => {
        if (!timer.isCancelled) timer.go();
      };
      this.#ready.push({ actor: timer.actor, what: timer.what, go, at: timer.at });
    }
  }

  /**
   * A process calls back all of its timers that are due before it receives messages, as Node does,
   * and what follows from each of them by itself before the next.
   */
  #give(able: readonly Turn[], drawn: Turn): void {
    const timers = able.filter(({ actor, at }) => actor === drawn.actor && at !== undefined);
    timers.sort((a, b) => (a.at ?? 0) - (b.at ?? 0));
    // Then, as a loop that has more than one thing to do, sometimes all that it has come to hear.
    const isAll = this.draw.happens(this.togetherness);
    const messages = isAll
      ? able.filter((turn) => turn.actor === drawn.actor && !("at" in turn))
      : [];
    const drawnTurns = timers.length + messages.length > 0 ? [...timers, ...messages] : [drawn];
    for (const turn of drawnTurns) this.#ready.splice(this.#ready.indexOf(turn), 1);
    if (!this.#isEnded) this.turns++;
    this.#hasLooked = timers.length > 0;
    for (const { actor, what, go } of drawnTurns) {
      setImmediate(() => {
        if (!actor.isAlive) return;
        this.note(actor, what);
        go();
      });
    }
  }

  #nextTimer(): Timer | undefined {
    for (let place = this.#timers.length - 1; place >= 0; place--) {
      const timer = this.#timers[place] as Timer;
      if (!timer.isCancelled && isAble(timer)) return timer;
    }
    return undefined;
  }
}

function isAble({ actor }: Turn): boolean {
  return actor.isAlive && !actor.isFrozen;
}

const BROKEN = { name: "BROKEN" };
const TIME = { name: "time" };
