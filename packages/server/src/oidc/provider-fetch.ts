/**
 * HTTP access to the identity provider and to the issuers of workload tokens, the second egress
 * path. The operator configured them, and they determine who may decide and submit, so their
 * addresses are not checked and may be private. Everything that they send is limited.
 *
 * @see docs/decisions/0017-oidc-sign-in.md
 */

import type { CustomFetch } from "openid-client";
import { Failure } from "../failure.ts";

export interface ProviderFetchOptions {
  /** True: accept plain HTTP on loopback. */
  readonly allowsPlainLoopback: boolean;
  /** Time limit from DNS to the last byte, in milliseconds. */
  readonly timeoutMs: number;
  /** Dependency and name in a Failure. Default: the identity provider of users. */
  readonly dependency?: "oidc" | "workload_identity";
  readonly party?: string;
}

/** Maximum size of a document or answer. The largest are key sets and lists of groups. */
const BODY_BYTES_MAX = 1_048_576;

/** Sends a request once, follows no redirect, and limits the answer's size. */
export function createProviderFetch(options: ProviderFetchOptions): CustomFetch {
  const { dependency = "oidc", party = "the identity provider" } = options;
  const failure: NewFailure = (what, cause) => new Failure(dependency, `${party} ${what}`, cause);
  return async (url, { method, headers, body: sent }) => {
    assertEncrypted(url, options, failure);
    const signal = AbortSignal.timeout(options.timeoutMs);
    const init = { method, headers, ...(sent == null ? {} : { body: sent }) };
    try {
      const response = await fetch(url, { ...init, redirect: "manual", signal });
      if (response.status >= 500) {
        throw failure(`returned status ${response.status}`);
      }
      const body = await readBounded(response, failure);
      const { status, headers } = response;
      return new Response(NO_BODY.includes(status) ? null : body, { status, headers });
    } catch (error) {
      throw asFailure(error, failure);
    }
  };
}

const NO_BODY = [204, 205, 304];

type NewFailure = (what: string, cause?: unknown) => Failure;

function assertEncrypted(
  url: string,
  { allowsPlainLoopback }: ProviderFetchOptions,
  failure: NewFailure,
): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === "https:") return;
  const isLoopback = hostname === "localhost" || /^(127(\.\d+){3}|\[::1\])$/.test(hostname);
  if (protocol === "http:" && isLoopback && allowsPlainLoopback) return;
  throw failure("has an endpoint without https");
}

async function readBounded(
  response: Response,
  failure: NewFailure,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    // Leaving the loop cancels the rest.
    if (size > BODY_BYTES_MAX) throw failure(`sent more than ${BODY_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Uint8Array.from(Buffer.concat(chunks));
}

function asFailure(error: unknown, failure: NewFailure): Failure {
  if (error instanceof Failure) return error;
  const isLate = error instanceof DOMException && error.name === "TimeoutError";
  return failure(isLate ? "did not answer in time" : "cannot be reached", error);
}
