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
    const url = trustedScriptUrl(urlOf("sw.js"));
    const registered = navigator.serviceWorker.register(url, { scope: urlOf("") });
    const { ready } = navigator.serviceWorker;
    // The worker of an earlier visit is ready at once; the check for a newer one can take long.
    return await Promise.race([ready, registered.then(() => ready)]);
  } catch (error) {
    // The console works without it.
    console.info("no service worker:", error);
    return undefined;
  }
}
