/**
 * Which screen is open, by the address: it can be reloaded, shared and gone back to. Links are
 * ordinary links.
 */

import { signal } from "@preact/signals";
import { pathOf, urlOf } from "./root.ts";

export interface Route {
  /** Like `/inbox/ID`; without what a proxy puts in front. */
  readonly path: string;
  readonly query: URLSearchParams;
}

export const route = signal(read());

/** Set by a screen with something unsaved: asks the person, and says whether to go. */
export const mayLeave: { current: (() => boolean) | undefined } = { current: undefined };

function read(): Route {
  const url = new URL(location.href);
  return { path: pathOf(url) ?? "/", query: url.searchParams };
}

export interface GoOptions {
  /** Instead of the present entry of the history. */
  readonly replace?: boolean;
}

/** Opens a screen; `path` is like `/inbox?filter=x`. */
export function go(path: string, { replace = false }: GoOptions = {}): void {
  const url = urlOf(path.slice(1));
  if (mayLeave.current?.() === false) return;
  if (replace) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  const before = route.value.path;
  route.value = read();
  if (!replace && route.value.path !== before) scrollTo(0, 0);
}

/** The address of a link to a screen. */
export function href(path: string): string {
  return urlOf(path.slice(1));
}

/** Opens links between screens without loading the page anew. */
export function followLinks(isScreen: (path: string) => boolean): void {
  addEventListener("popstate", () => {
    route.value = read();
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link === null || link.target !== "" || link.hasAttribute("download")) return;
    const url = new URL(link.href);
    const path = pathOf(url);
    if (path === undefined || !isScreen(path)) return;
    event.preventDefault();
    go(path + url.search);
  });
}
