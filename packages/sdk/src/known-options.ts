/**
 * Rejects unknown options. A misspelled option would otherwise keep its default silently.
 */

import { SdkError, type SdkErrorCode } from "./errors.ts";

/**
 * @param what the object in the error message, such as `new Countersign()`
 * @param given the options of the program
 * @param known the names of all options
 * @throws SdkError with `code`
 */
export function assertKnownOptions(
  what: string,
  given: object,
  known: readonly string[],
  code: SdkErrorCode = "invalid_option",
): void {
  if (typeof given !== "object" || given === null) {
    throw new SdkError(code, `${what} expects an object with options.`);
  }
  const unknown = Object.keys(given).filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  const names = unknown.map((name) => JSON.stringify(name.slice(0, 40))).join(", ");
  throw new SdkError(code, `Unknown option of ${what}: ${names}. Known: ${known.join(", ")}.`);
}
