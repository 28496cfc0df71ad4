/** A decider behind a URL: it is sent each verdict, and answers when the provider has taken it. */

import type { Decider } from "../options.ts";

export interface UrlDeciderOptions {
  readonly url: string;
  /** Sent as a bearer token. */
  readonly token?: string;
}

/** Bounds one exchange. */
export const VERDICT_MS_MAX = 60_000;

/** Posts `{request_id, verdict, note?}`; any 2xx says that the verdict was taken. */
export function urlDecider({ url, token }: UrlDeciderOptions): Decider {
  return {
    async decide({ requestId, verdict, note }) {
      const body = { request_id: requestId, verdict, ...(note !== undefined && { note }) };
      await post(url, body, token, "the decider");
    },
  };
}

/** @throws Error when the answer is not a 2xx */
export async function post(
  url: string,
  body: object,
  token: string | undefined,
  whom: string,
): Promise<void> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...bearer(token) },
    body: JSON.stringify(body),
    redirect: "error",
    signal: AbortSignal.timeout(VERDICT_MS_MAX),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`${whom} answered ${response.status}`);
}

export function bearer(token: string | undefined): Readonly<Record<string, string>> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}
