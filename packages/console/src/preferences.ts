/** What a person has chosen for the console. */

import { signal } from "@preact/signals";

const KEYS = "countersign.keys";

/** Whether single keys act. Of this browser. */
export const keysOn = signal(localStorage.getItem(KEYS) !== "off");

export function setKeysOn(on: boolean): void {
  if (on) localStorage.removeItem(KEYS);
  else localStorage.setItem(KEYS, "off");
  keysOn.value = on;
}
