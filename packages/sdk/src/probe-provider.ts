/**
 * Checks that a provider is reachable and accepts a credential, before an agent depends on it.
 */

import { ApprovalClient } from "./approval-client.ts";
import { systemTiming } from "./clock.ts";
import type { SdkError } from "./errors.ts";

/** Short, because a user waits for the result. */
const PROBE_TIMEOUT = "3s";

/** The result of {@link probeProvider}. */
export interface Probe {
  /**
   * `works`: the provider accepts the credential. `refused`: it rejects it, or an input is invalid.
   */
  readonly kind: "works" | "refused" | "unreachable";
  /** A sentence for the user. */
  readonly text: string;
  /** Milliseconds by which the provider's clock is ahead of this one. Undefined if unknown. */
  readonly aheadMs: number | undefined;
}

/**
 * Checks the URL and the API key: reads a request with a random id, within 3 s. It creates nothing,
 * asks no reviewer and never throws.
 *
 * @param url base URL of the provider
 * @param apiKey the credential of the instance
 */
export async function probeProvider(url: string, apiKey: string): Promise<Probe> {
  let date: string | null = null;
  const recordDate: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    date = response.headers.get("date");
    return response;
  };
  // The header has whole seconds, so it is 500 ms too low on average.
  const ahead = () => (date === null ? undefined : Date.parse(date) + 500 - systemTiming.now());
  try {
    const client = new ApprovalClient({
      url,
      apiKey,
      fetch: recordDate,
      retryFor: PROBE_TIMEOUT,
    });
    await client.read(crypto.randomUUID());
    const text = "Unexpected answer: it returned a request for a random id. Check the URL.";
    return { kind: "unreachable", text, aheadMs: ahead() };
  } catch (error) {
    const { code, status, message } = Object(error) as SdkError;
    const text = message ?? "unknown";
    if (code === "refused" && status === 404) {
      if (await answersUnauthorized(url)) {
        return { kind: "works", text: "It accepts the credential.", aheadMs: ahead() };
      }
      const wrong = "The URL does not reject a wrong credential. Check the base URL.";
      return { kind: "unreachable", text: wrong, aheadMs: ahead() };
    }
    const kind = code === "refused" || code === "invalid_option" ? "refused" : "unreachable";
    return { kind, text, aheadMs: ahead() };
  }
}

/** An unknown page answers 404 to every credential, and a provider only to a valid one. */
async function answersUnauthorized(url: string): Promise<boolean> {
  const client = new ApprovalClient({ url, apiKey: "not-a-key", retryFor: PROBE_TIMEOUT });
  try {
    await client.read(crypto.randomUUID());
    return false;
  } catch (error) {
    return Object(error).status === 401;
  }
}
