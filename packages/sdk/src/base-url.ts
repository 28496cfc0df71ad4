/**
 * Where a provider is. HTTPS, except on this machine.
 *
 * @see contract: What the service does, 5
 */

import { SdkError } from "./errors.ts";

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * @param text may have a path, below which the contract's paths are
 * @returns without a slash at the end
 * @throws SdkError `invalid_option`
 */
export function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // The text is not repeated: it may hold a password.
  // Nor is localhost:8787 one, but for a parser, which takes localhost for a protocol.
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

/** What a header can carry without a change. */
const TOKEN = /^[\x21-\x7e]+$/;

/** @throws SdkError `invalid_option`, without the token */
export function readToken(token: string): string {
  if (typeof token === "string" && TOKEN.test(token)) return token;
  throw invalid("Missing or invalid token. Check it for spaces and line breaks.");
}

function invalid(message: string): SdkError {
  return new SdkError("invalid_option", message);
}
