/** Logins and display names. */

import { invalidField } from "@countersign/protocol";

const LOGIN_CHARS_MAX = 254;
const NAME_CHARS_MAX = 100;

/** Excludes spaces and invisible characters, so that two logins cannot differ by these alone. */
const LOGIN = /^[^\s\p{C}\p{Default_Ignorable_Code_Point}\u2800]+$/u;

const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * The stored and compared form of a login: lower case, trimmed, with compatibility characters
 * normalized.
 *
 * @returns undefined for an invalid login
 */
export function normalizeLogin(text: string): string | undefined {
  // Rejects long texts before the normalization.
  if (text.length > 4 * LOGIN_CHARS_MAX) return undefined;
  const login = text.normalize("NFKC").trim().toLowerCase();
  return login.length <= LOGIN_CHARS_MAX && LOGIN.test(login) ? login : undefined;
}

/** @throws Problem `invalid_request` with param `login` */
export function parseLogin(text: string): string {
  const login = normalizeLogin(text);
  if (login === undefined) {
    throw invalidField(
      "login",
      `must be 1 to ${LOGIN_CHARS_MAX} visible characters without spaces`,
    );
  }
  return login;
}

/** @returns undefined for an invalid name */
export function normalizeName(text: string): string | undefined {
  const name = text.normalize("NFC").trim();
  const isShown = name !== "" && name.length <= NAME_CHARS_MAX && !UNSEEN.test(name);
  return isShown ? name : undefined;
}

/** @throws Problem `invalid_request` with param `name` */
export function parsePersonName(text: string): string {
  const name = normalizeName(text);
  if (name === undefined) {
    throw invalidField("name", `must be 1 to ${NAME_CHARS_MAX} visible characters`);
  }
  return name;
}
