/**
 * What a condition answers when it has no answer: a missing field, a wrong type, an overflow.
 *
 * A value, not an exception: `false && missing` is false in CEL, and a policy of many rules meets
 * many missing fields in every call.
 */

export class Fault {
  /** For people who write policies. Never holds a value of the call. */
  readonly message: string;
  /** Whether the condition met a number that cannot be held exactly. */
  readonly inexact: boolean;

  constructor(message: string, inexact = false) {
    this.message = message;
    this.inexact = inexact;
  }
}

export const INEXACT_FAULT = new Fault(
  "a number of the call cannot be held exactly, so nothing can be said about it",
  true,
);
