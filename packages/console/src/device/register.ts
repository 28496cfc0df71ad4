/** The console's service worker: for a shell without a connection, and for Web Push. */

import { urlOf } from "../root.ts";

/**
 * The registration, once the worker is there; undefined where the browser has none, or the page
 * was not served securely.
 */
export const worker: Promise<ServiceWorkerRegistration | undefined> = register();

async function register(): Promise<ServiceWorkerRegistration | undefined> {
  if (!("serviceWorker" in navigator)) return undefined;
  try {
    await navigator.serviceWorker.register(scriptUrl(urlOf("sw.js")), { scope: urlOf("") });
    return await navigator.serviceWorker.ready;
  } catch (error) {
    // The console works without it.
    console.info("no service worker:", error);
    return undefined;
  }
}

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): { createScriptURL(url: string): string };
}

/** The only address that may become a script here, besides those of the page itself. */
function scriptUrl(url: string): string {
  const { trustedTypes } = globalThis as { readonly trustedTypes?: TrustedTypes };
  if (trustedTypes === undefined) return url;
  const only = (wanted: string) => {
    if (wanted !== url) throw new TypeError("not the service worker");
    return wanted;
  };
  return trustedTypes.createPolicy("countersign", { createScriptURL: only }).createScriptURL(url);
}
