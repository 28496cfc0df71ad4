/**
 * Validates the base URL and the API key of a provider. HTTPS is required, except on this machine.
 *
 * @see contract: What the service does, 5
 */

import { SdkError } from "./errors.ts";

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * @param text the base URL. It may have a path, to which the contract's paths are appended
 * @returns the URL without a trailing slash
 * @throws SdkError `invalid_option`
 */
export function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // The message does not contain the text, which may contain a password.
  // The URL parser accepts `localhost:8787` as a URL with the protocol `localhost` and no host.
  if (url === undefined || url.host === "") {
    throw invalid("Invalid provider URL. Expected a URL such as https://approvals.example.com.");
  }
  if (url.username !== "" || url.password !== "" || /[?#]/.test(text)) {
    throw invalid("Invalid provider URL. Remove the user, the query and the fragment.");
  }
  if (url.protocol !== "https:" && !(url.protocol === "http:" && LOOPBACK.test(url.hostname))) {
    throw invalid("Invalid provider URL. Use https; http is allowed for localhost only.");
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** Characters that a header transmits unchanged. */
const TOKEN = /^[\x21-\x7e]+$/;

/**
 * @param what name of the token in the error message
 * @throws SdkError `invalid_option`, without the token
 */
export function readToken(what: string, token: unknown): string {
  if (typeof token === "string" && TOKEN.test(token)) return token;
  throw invalid(`Missing or invalid ${what}. Check it for spaces and line breaks.`);
}

function invalid(message: string): SdkError {
  return new SdkError("invalid_option", message);
}
