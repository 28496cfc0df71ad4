/**
 * Reads the metadata of authorization servers. Every request has a time limit and a size limit,
 * follows no redirect and uses https, except on this machine.
 *
 * @see https://datatracker.ietf.org/doc/html/rfc8414
 */

import { buildDiscoveryUrls } from "@modelcontextprotocol/sdk/client/auth.js";
import { type AuthorizationServer, processDiscoveryResponse } from "oauth4webapi";
import { isPlainLoopback, isProtectedUrl } from "./config.ts";

/** An authorization server that cannot be used. The message is for the operator. */
export class OauthError extends Error {}

export type OauthFetch = (url: string, init?: OauthInit) => Promise<Response>;

/** The part of a request that all callers use. */
export interface OauthInit {
  readonly method?: string | undefined;
  readonly headers?: Headers | Readonly<Record<string, string>> | undefined;
  readonly body?: string | URLSearchParams | null | undefined;
}

const TIMEOUT_MS = 10_000;

const BODY_BYTES_MAX = 1_048_576;

const NO_BODY = [204, 205, 304];

/**
 * @param configured a URL of the config file. If it uses http on this machine, the metadata may
 *   contain such URLs too. Otherwise a remote server could direct requests to this machine.
 */
export function createOauthFetch(configured: string): OauthFetch {
  const allowsLoopback = isPlainLoopback(configured);
  return async (url, { method, headers, body } = {}) => {
    const shown = shownUrl(url);
    if (!isProtectedUrl(url) || (isPlainLoopback(url) && !allowsLoopback)) {
      throw new OauthError(`${shown} does not use https.`);
    }
    const sent = {
      method: method ?? "GET",
      ...(headers !== undefined && { headers }),
      ...(body != null && { body }),
    };
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    try {
      const response = await fetch(url, { ...sent, redirect: "manual", signal });
      const { status, headers: received } = response;
      const content = await readBounded(response, shown);
      const isEmpty = NO_BODY.includes(status);
      return new Response(isEmpty ? null : content, { status, headers: received });
    } catch (error) {
      if (error instanceof OauthError) throw error;
      throw new OauthError(`${shown} cannot be reached (${reasonOf(error)}).`);
    }
  };
}

/** @throws OauthError if the issuer has no metadata, or the metadata of another issuer */
export async function discoverIssuer(
  issuer: string,
  oauthFetch: OauthFetch,
): Promise<AuthorizationServer> {
  for (const { url } of buildDiscoveryUrls(issuer)) {
    const response = await oauthFetch(url.href, { headers: { accept: "application/json" } });
    if (response.status >= 500) {
      throw new OauthError(`${url.href} returned the status ${response.status}.`);
    }
    if (response.status !== 200) continue;
    return readMetadata(issuer, response);
  }
  throw new OauthError(`${issuer} has no metadata of an authorization server.`);
}

async function readMetadata(issuer: string, response: Response): Promise<AuthorizationServer> {
  try {
    return await processDiscoveryResponse(new URL(issuer), response);
  } catch (error) {
    throw new OauthError(`The metadata of ${issuer} is not valid: ${(error as Error).message}.`);
  }
}

/** Without the query, which can contain credentials. */
function shownUrl(url: string): string {
  return URL.canParse(url) ? new URL(url).origin + new URL(url).pathname : "The URL";
}

async function readBounded(response: Response, shown: string): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    // An error ends the loop, which cancels the rest.
    if (length > BODY_BYTES_MAX) throw new OauthError(`${shown} sent more than 1 MiB.`);
    chunks.push(chunk);
  }
  return Uint8Array.from(Buffer.concat(chunks));
}

function reasonOf(error: unknown): string {
  if (error instanceof DOMException && error.name === "TimeoutError") return "timeout";
  const { cause } = Object(error) as { readonly cause?: { readonly code?: unknown } };
  return typeof cause?.code === "string" ? cause.code : "network error";
}
