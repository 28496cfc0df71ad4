/** The console's service worker: for a shell without a connection, and for Web Push. */

import { urlOf } from "../root.ts";
import { trustedScriptUrl } from "../trusted-url.ts";

/**
 * The registration, once the worker is there; undefined where the browser has none, or the page
 * was not served securely.
 */
export const worker: Promise<ServiceWorkerRegistration | undefined> = register();

async function register(): Promise<ServiceWorkerRegistration | undefined> {
  if (!("serviceWorker" in navigator)) return undefined;
  try {
    await navigator.serviceWorker.register(trustedScriptUrl(urlOf("sw.js")), { scope: urlOf("") });
    return await navigator.serviceWorker.ready;
  } catch (error) {
    // The console works without it.
    console.info("no service worker:", error);
    return undefined;
  }
}
