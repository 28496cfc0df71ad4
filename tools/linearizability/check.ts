/**
 * Whether a history of one object can be explained by some order of its operations, each at one
 * moment between its call and its answer: linearizability, by the search of Wing and Gong with
 * Lowe's memory of states that led nowhere.
 *
 * Histories are of single requests, which are independent objects, so they stay small; the search
 * is exponential in what overlaps, not in what there is.
 *
 * @see J. Wing, C. Gong: Testing and verifying concurrent objects (1993)
 * @see G. Lowe: Testing for linearizability (2017)
 */

/** One operation of a history. */
export interface Operation<Input, Output> {
  readonly input: Input;
  /** Undefined: no answer came, so it may have happened at any time after its call, or never. */
  readonly output: Output | undefined;
  /** Of any clock that all operations share. */
  readonly calledAt: number;
  /** Infinity where no answer came. */
  readonly answeredAt: number;
}

/** The sequential behaviour of one object. */
export interface Model<State, Input, Output> {
  readonly initial: State;
  /**
   * All states after the operation, if it may be answered so; none if it may not.
   *
   * @param output undefined where the answer is not known
   */
  step(state: State, input: Input, output: Output | undefined): readonly State[];
  /** The same for equal states. */
  keyOf(state: State): string;
}

/** An order in which all that was answered can have happened; undefined when there is none. */
export function linearize<State, Input, Output>(
  model: Model<State, Input, Output>,
  history: readonly Operation<Input, Output>[],
): readonly Operation<Input, Output>[] | undefined {
  const failed = new Set<string>();
  const done = new Set<number>();
  const order: Operation<Input, Output>[] = [];

  const search = (state: State): boolean => {
    const left = history.flatMap((operation, index) =>
      done.has(index) ? [] : [{ operation, index }],
    );
    // An unanswered operation need not have happened.
    if (left.every(({ operation }) => operation.output === undefined)) return true;
    const key = `${[...done].sort((a, b) => a - b).join()}|${model.keyOf(state)}`;
    if (failed.has(key)) return false;
    const firstAnswer = Math.min(...left.map(({ operation }) => operation.answeredAt));
    for (const { operation, index } of left) {
      // Another one was over before this one started.
      if (operation.calledAt > firstAnswer) continue;
      done.add(index);
      order.push(operation);
      for (const next of model.step(state, operation.input, operation.output)) {
        if (search(next)) return true;
      }
      order.pop();
      done.delete(index);
    }
    failed.add(key);
    return false;
  };

  return search(model.initial) ? order : undefined;
}
