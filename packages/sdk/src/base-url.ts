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
    throw invalid("The base URL is no URL; it looks like https://host/path.");
  }
  if (url.username !== "" || url.password !== "" || /[?#]/.test(text)) {
    throw invalid("The base URL has a user, a query or a fragment; leave them out.");
  }
  if (url.protocol !== "https:" && !(url.protocol === "http:" && LOOPBACK.test(url.hostname))) {
    throw invalid("The base URL is not https; plain http is for this machine alone.");
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** What a header can carry without a change. */
const TOKEN = /^[\x21-\x7e]+$/;

/** @throws SdkError `invalid_option`, without the token */
export function readToken(token: string): string {
  if (typeof token === "string" && TOKEN.test(token)) return token;
  throw invalid("The token is missing, or has characters that no token has (a line break?).");
}

function invalid(message: string): SdkError {
  return new SdkError("invalid_option", message);
}
