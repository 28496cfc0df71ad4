/**
 * The result of a condition without a value: a missing field, a wrong type, an overflow.
 *
 * A value instead of an exception: `false && missing` is false in CEL, and large policies evaluate
 * many missing fields for every call.
 */

export class Fault {
  /** For authors of policies. Never contains a value of the call. */
  readonly message: string;
  /** True when the condition needed more of a long number than its order. */
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
