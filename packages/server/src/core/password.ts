/**
 * The rules for passwords: a minimum length, and no rules for characters.
 *
 * @see NIST SP 800-63B, 5.1.1.2
 */

import { invalidField } from "@countersign/protocol";

export const PASSWORD_CHARS_MIN = 12;
export const PASSWORD_CHARS_MAX = 256;

/** Normalizes Unicode, so that every keyboard produces the same text. */
export function normalizePassword(text: string): string {
  return text.normalize("NFKC");
}

/**
 * @param login of the owner
 * @returns the text to hash
 * @throws Problem `invalid_request` naming `param`
 */
export function parsePassword(text: string, login: string, param = "password"): string {
  if (text.length > PASSWORD_CHARS_MAX) {
    throw invalidField(param, `must not be longer than ${PASSWORD_CHARS_MAX} characters`);
  }
  const password = normalizePassword(text);
  if ([...password].length < PASSWORD_CHARS_MIN) {
    throw invalidField(param, `must have at least ${PASSWORD_CHARS_MIN} characters`);
  }
  const lower = password.toLowerCase();
  if (lower === login || new Set(lower).size < 4) {
    throw invalidField(param, "is too easy to guess");
  }
  return password;
}

/**
 * Parses a password for a comparison.
 *
 * @throws Problem `invalid_request` naming `param` when it is longer than any valid password
 */
export function parseSubmittedPassword(text: string, param = "password"): string {
  if (text.length > PASSWORD_CHARS_MAX) {
    throw invalidField(param, `must not be longer than ${PASSWORD_CHARS_MAX} characters`);
  }
  return normalizePassword(text);
}
