/**
 * Classifies the errors of `fetch`. Most runtimes set a code. Deno and Cloudflare Workers only
 * write a message.
 */

const BAD_PORT = "fetch does not allow this port";

/** A port without a server, or a host without an address. */
const REFUSED = new Set(["ECONNREFUSED", "ConnectionRefused", "ENOTFOUND", BAD_PORT]);

/** Messages of errors without a code, and the cause that the SDK reports instead. */
const CAUSES: readonly (readonly [message: RegExp, cause: string])[] = [
  [/^bad port$/, BAD_PORT],
  [/^Fetch failed: Requests to port \d+ are blocked$/, BAD_PORT],
  [/client error \(Connect\): tcp connect error: .*\brefused\b/, "ECONNREFUSED"],
  [/client error \(Connect\): dns error: /, "ENOTFOUND"],
  [/client error \(SendRequest\): connection closed/, "connection lost"],
  // Workers do not distinguish a refused connection from a lost one.
  [/^Network connection lost\.$/, "connection lost"],
];

/** Messages of the runtimes for `fetch` errors without a code. */
const NETWORK =
  /fetch failed|failed to fetch|load failed|network|error sending request|terminated/i;

/** The code of a runtime error. Its message may contain secrets, so it is not used. */
export function causeOf(error: unknown): string {
  const { code, name, cause } = Object(error) as Record<string, unknown>;
  const inner = Object(cause) as Record<string, unknown>;
  const known = knownCause(error);
  if (known !== undefined) return known;
  for (const text of [inner.code, code, inner.name, name]) {
    if (typeof text === "string" && /^[\w-]{1,60}$/.test(text)) return text;
  }
  return "unknown";
}

/** True if no server listens at the address of the provider. */
export function isRefused(error: unknown): boolean {
  return REFUSED.has(causeOf(error));
}

/** True if Deno rejected the connection because the program lacks the permission. */
export function isForbidden(error: unknown): boolean {
  const { name } = Object(error) as Record<string, unknown>;
  return name === "NotCapable";
}

/** Any other error of a custom `fetch` is a defect, which a retry does not fix. */
export function isNetworkError(error: unknown): boolean {
  const { code, name, message, cause } = Object(error) as Record<string, unknown>;
  const { code: innerCode } = Object(cause) as Record<string, unknown>;
  if (typeof code === "string" || typeof innerCode === "string") return true;
  if (name === "AbortError" || name === "TimeoutError") return true;
  if (knownCause(error) !== undefined) return true;
  return error instanceof TypeError && NETWORK.test(String(message));
}

function knownCause(error: unknown): string | undefined {
  const { message, cause } = Object(error) as Record<string, unknown>;
  const { message: inner } = Object(cause) as Record<string, unknown>;
  const isOf = ([pattern]: (typeof CAUSES)[number]) =>
    [inner, message].some((text) => typeof text === "string" && pattern.test(text));
  return CAUSES.find(isOf)?.[1];
}
