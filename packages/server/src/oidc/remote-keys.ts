/** The keys that an issuer of tokens publishes. The library caches them. */

import type * as Library from "jose";
import type { CustomFetch } from "openid-client";

/** A removed key is accepted for at most this time. */
const CACHED_MS = 120_000;

/** Pause between two requests for an unknown key, so that a new key works soon. */
const COOLDOWN_MS = 1_000;

/** @param get sends the request within limits */
export function createRemoteKeys(
  library: typeof Library,
  url: string,
  get: CustomFetch,
): Library.JWTVerifyGetKey {
  return library.createRemoteJWKSet(new URL(url), {
    cacheMaxAge: CACHED_MS,
    cooldownDuration: COOLDOWN_MS,
    [library.customFetch]: (at, { method, headers }) =>
      get(at, {
        method,
        headers: Object.fromEntries(headers),
        body: undefined,
        redirect: "manual",
      }),
  });
}
