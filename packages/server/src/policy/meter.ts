/**
 * Counts the steps of an evaluation, so that its bound is the same on every machine. A step costs
 * about as much as reading one value.
 */

/** The steps are used up. Not a condition error, so `||` does not handle it. */
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

  /** @throws StepsExceeded when fewer steps are left */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new StepsExceeded();
  }

  get left(): number {
    return this.#left;
  }
}
