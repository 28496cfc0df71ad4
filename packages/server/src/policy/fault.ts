/**
 * What a condition answers when it has no answer: a missing field, a wrong type, an overflow.
 *
 * A value, not an exception: `false && missing` is false in CEL, and a policy of many rules meets
 * many missing fields in every call.
 */

export class Fault {
  /** For people who write policies. Never holds a value of the call. */
  readonly message: string;
  /** Whether the condition needed more of a long number than its place among others. */
  readonly inexact: boolean;

  constructor(message: string, inexact = false) {
    this.message = message;
    this.inexact = inexact;
  }
}

export const INEXACT_FAULT = new Fault(
  "a number of the call has more digits or a larger exponent than this operation supports",
  true,
);
