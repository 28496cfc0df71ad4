/**
 * Scripts of this server that run beside the page. The page lets nothing become a script's address
 * but what this one policy lets through: files that the build has made.
 */

import { pathOf } from "./root.ts";

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): { createScriptURL(url: string): string };
}

const { trustedTypes } = globalThis as { readonly trustedTypes?: TrustedTypes };

function checked(url: string): string {
  const path = pathOf(new URL(url));
  if (path === undefined || !/^\/(assets\/)?[\w.-]+\.js$/.test(path)) {
    throw new Error(`${url} is not a script of this server`);
  }
  return url;
}

const policy = trustedTypes?.createPolicy("countersign", { createScriptURL: checked });

/** @param url absolute, of a script of this server */
export function trustedScriptUrl(url: string): string {
  return policy === undefined ? checked(url) : policy.createScriptURL(url);
}
