/**
 * A `fetch` on Node's own HTTP client. The global `fetch` loads and compiles a client of its own,
 * which takes longer than everything else in a hook.
 *
 * Promises: it follows no redirect. The response has only the members that the SDK reads.
 */

import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";

/**
 * Rejects with the error of the connection, which has a code.
 *
 * @param url an absolute URL of `http:` or `https:`
 */
export const providerFetch = (async (url: string, init: RequestInit) => {
  const { method, headers, body, signal } = init as ProviderRequest;
  const request = url.startsWith("https:") ? requestHttps : requestHttp;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(url, { method, headers, signal }, resolve);
    sent.on("error", reject);
    // Node sends the length of a body that is complete at the end of the request.
    sent.end(body);
  });
  return responseOf(response);
}) as typeof fetch;

interface ProviderRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

function responseOf(response: IncomingMessage) {
  const chunks = response[Symbol.asyncIterator]();
  return {
    type: "basic",
    status: response.statusCode,
    headers: { get: (name: string) => headerOf(response, name) },
    body: {
      getReader: () => ({
        read: () => chunks.next(),
        cancel: async () => {
          response.destroy();
        },
      }),
    },
  };
}

/** Equal headers are joined, as in a `Headers` object. */
function headerOf(response: IncomingMessage, name: string): string | null {
  return response.headersDistinct[name.toLowerCase()]?.join(", ") ?? null;
}
