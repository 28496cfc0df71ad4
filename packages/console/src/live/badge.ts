/** Shows outside the page that requests need a decision: icon of the tab, badge of the app. */

import { effect } from "@preact/signals";
import { mark } from "../mark.ts";
import { mine } from "./live.ts";

const markWaiting = new URL("../mark-waiting.svg", import.meta.url).href;

effect(() => {
  const count = mine.value.length;
  const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (icon !== null) icon.href = count > 0 ? markWaiting : mark;
  // Browsers without installed apps do not have it.
  navigator.setAppBadge?.(count).catch(console.info);
});
