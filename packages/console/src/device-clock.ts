/**
 * The clock of the device, which may be minutes off: only to tell how long something was on its
 * way between two scripts of one browser. What is shown goes by time.ts.
 */

/** Epoch ms, as the device has it. */
export function deviceNow(): number {
  return Date.now();
}
