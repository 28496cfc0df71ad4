/**
 * Discrete events: a clock that jumps from one to the next, and stations that serve in the order of
 * arrival. Times are in ms.
 *
 * Called by: queue.ts, loss.ts.
 */

type Action = () => void;

interface Event {
  readonly at: number;
  /** Of two at the same time, the one that was planned first comes first. */
  readonly order: number;
  readonly action: Action;
}

export class Simulation {
  now = 0;
  readonly #heap: Event[] = [];
  #planned = 0;

  after(delayMs: number, action: Action): void {
    this.#push({ at: this.now + delayMs, order: this.#planned++, action });
  }

  /** Until nothing is planned any more. */
  run(): void {
    for (let event = this.#pop(); event !== undefined; event = this.#pop()) {
      this.now = event.at;
      event.action();
    }
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let place = heap.length;
    heap.push(event);
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = heap[parent] as Event;
      if (!isBefore(event, above)) break;
      heap[place] = above;
      place = parent;
    }
    heap[place] = event;
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return first;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      const [left, right] = [heap[child], heap[child + 1]];
      if (left === undefined) break;
      if (right !== undefined && isBefore(right, left)) child++;
      const least = heap[child] as Event;
      if (!isBefore(least, last)) break;
      heap[place] = least;
      place = child;
    }
    heap[place] = last;
    return first;
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}

interface Waiter {
  readonly since: number;
  readonly take: Action;
  readonly giveUp: Action;
  gone: boolean;
}

/** Places that are taken and given back: connections of a pool, cores of a machine. */
export class Places {
  readonly #simulation: Simulation;
  readonly #patienceMs: number;
  readonly #waiting: Waiter[] = [];
  #head = 0;
  #free: number;

  /** @param patienceMs after which who waits gives up */
  constructor(simulation: Simulation, count: number, patienceMs = Number.POSITIVE_INFINITY) {
    this.#simulation = simulation;
    this.#free = count;
    this.#patienceMs = patienceMs;
  }

  take(take: Action, giveUp: Action = () => {}): void {
    if (this.#free > 0) {
      this.#free--;
      take();
      return;
    }
    const waiter = { since: this.#simulation.now, take, giveUp, gone: false };
    this.#waiting.push(waiter);
    if (this.#patienceMs === Number.POSITIVE_INFINITY) return;
    this.#simulation.after(this.#patienceMs, () => {
      if (waiter.gone) return;
      waiter.gone = true;
      giveUp();
    });
  }

  giveBack(): void {
    for (;;) {
      const waiter = this.#waiting[this.#head];
      if (waiter === undefined) break;
      this.#head++;
      if (waiter.gone) continue;
      waiter.gone = true;
      waiter.take();
      this.#compact();
      return;
    }
    this.#compact();
    this.#free++;
  }

  /** Takes a place for so long. */
  serve(serviceMs: number, done: Action): void {
    this.take(() =>
      this.#simulation.after(serviceMs, () => {
        this.giveBack();
        done();
      }),
    );
  }

  #compact(): void {
    if (this.#head < 1_024) return;
    this.#waiting.splice(0, this.#head);
    this.#head = 0;
  }
}
