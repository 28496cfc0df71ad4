/** Starts the console: who is signed in first, then the screen of the address. */

import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/layout.css";
import { render } from "preact";
import { Refusal } from "./api.ts";
import { App } from "./app.tsx";
import "./device/register.ts";
import "./live/badge.ts";
import "./live/notices.ts";
import { applyLanguage } from "./language/page-language.ts";
import { listenForKeys } from "./parts/keys.tsx";
import { loadPreferences, preferences } from "./preferences.ts";
import { followLinks } from "./route.ts";
import { findScreen } from "./screens.ts";
import { isOffline, loadSession, session } from "./session.ts";

const RETRY_MS = 2_000;

// Their addresses are relative to the page's first, which changes as screens are opened.
for (const link of document.querySelectorAll<HTMLLinkElement>("link[href]")) {
  link.href = new URL(link.href).href;
}
followLinks((path) => findScreen(path) !== undefined);
listenForKeys();
const root = document.getElementById("app");
if (root === null) throw new Error("The page has no element #app.");
render(<App />, root);

/** A server that is just starting is asked again; who is not signed in is led to sign in. */
async function begin(): Promise<void> {
  while (session.value === undefined) {
    try {
      await loadSession();
    } catch (error) {
      // A signed-out user is being redirected to the sign-in page.
      if (error instanceof Refusal && error.status === 401) return;
      if (!(error instanceof Refusal) || !error.isUnanswered) throw error;
      isOffline.value = true;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

await begin();
// The stored preferences apply until the server answers.
if (session.value !== undefined) {
  await loadPreferences().then(() => applyLanguage(preferences.peek().language), console.info);
}
