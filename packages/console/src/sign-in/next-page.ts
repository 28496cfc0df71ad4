/** The page that opens after signing in. */

import { pathOf, urlOf } from "../root.ts";

/** The page of this server that `?next=` names, otherwise the inbox. */
export function nextPage(): URL {
  const root = urlOf("");
  const next = new URLSearchParams(location.search).get("next");
  if (next !== null && URL.canParse(next, root)) {
    const url = new URL(next, root);
    // A `blob:` URL has the origin of the page that created it.
    if (url.protocol === location.protocol && url.origin === location.origin) return url;
  }
  return new URL(urlOf("inbox"));
}

/** The same page as the server expects it in `return_to`: a path without a proxy's prefix. */
export function returnPath(): string {
  const url = nextPage();
  return `${pathOf(url) ?? url.pathname}${url.search}${url.hash}`;
}
