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
 * Checks the URL and the API key: reads a request with a random id, and again with a wrong
 * credential, each within 3 s. It creates nothing, asks no reviewer and never throws.
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
    if (code === "refused" && status === 404) return { ...(await probeUrl(url)), aheadMs: ahead() };
    const kind = code === "refused" || code === "invalid_option" ? "refused" : "unreachable";
    return { kind, text, aheadMs: ahead() };
  }
}

/**
 * Sends a wrong credential: an unknown page answers 404 to it, as to any credential, and a provider
 * answers 401.
 */
async function probeUrl(url: string): Promise<Pick<Probe, "kind" | "text">> {
  const client = new ApprovalClient({ url, apiKey: "not-a-key", retryFor: PROBE_TIMEOUT });
  const text = "The URL does not reject a wrong credential. Check the base URL.";
  try {
    await client.read(crypto.randomUUID());
    return { kind: "unreachable", text };
  } catch (error) {
    const { status, message } = Object(error) as SdkError;
    if (status === 401) return { kind: "works", text: "It accepts the credential." };
    return { kind: "unreachable", text: status === 404 ? text : message };
  }
}
