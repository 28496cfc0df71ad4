/** Notifications of the console, of its pages and its service worker. */

/**
 * Shows or lists notifications one after another, in all tabs and the service worker: Chromium
 * forgets a notification that was listed while it was being shown, and it could not be removed any
 * more.
 */
export function inTurn<T>(act: () => Promise<T>): Promise<T> {
  return navigator.locks?.request("countersign.notifications", act) ?? act();
}
