/** On the page `/sign-in`: the way over the identity provider, where there is one. */

import { byId, call, nextPage, showFault } from "./page.js";

const slot = document.querySelector('[data-slot="oidc"]');
const form = byId("form");

/** A path as the server knows it, also where a proxy puts something in front. */
function returnPath() {
  const { pathname, search, hash } = new URL(nextPage(), location.href);
  const base = new URL(".", location.href).pathname;
  const path = pathname.startsWith(base) ? pathname.slice(base.length - 1) : pathname;
  return path + search + hash;
}

function button(text, className, work) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = className;
  made.textContent = text;
  made.addEventListener("click", work);
  return made;
}

function offer({ only }) {
  const lead = button("Sign in with SSO", "primary", () => {
    location.assign(`review/v1/session/oidc?${new URLSearchParams({ return_to: returnPath() })}`);
  });
  slot.append(lead);
  slot.hidden = false;
  if (!only) return;
  // For the one person who may, when the provider is down.
  form.hidden = true;
  const other = button("Sign in without SSO", "quiet", () => {
    other.remove();
    form.hidden = false;
    byId("login").focus();
  });
  slot.append(other);
  lead.focus();
}

try {
  const ways = await call("GET", "session/ways");
  if (ways.oidc) offer(ways);
} catch (error) {
  showFault(error);
}
