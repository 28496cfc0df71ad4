/**
 * Counts the steps of an evaluation, so that its cost is bounded by a number that is the same on
 * every machine and on every day. A step is about the cost of reading one value.
 */

/** The steps are used up. Not an error of a condition: no `||` makes it good. */
export class StepsExceeded extends Error {
  constructor() {
    super("the condition takes too many steps");
    this.name = "StepsExceeded";
  }
}

export class Meter {
  #left: number;

  constructor(steps: number) {
    this.#left = steps;
  }

  /** @throws StepsExceeded when less than that is left */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new StepsExceeded();
  }

  get left(): number {
    return this.#left;
  }
}
