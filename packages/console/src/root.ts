/**
 * Where this server is: also where a proxy puts a path in front, and from any page below it. The
 * built scripts are one folder below the root.
 */

const ROOT = new URL(/* @vite-ignore */ "..", import.meta.url);

/** An address of this server; `path` is as the server knows it, without a slash first. */
export function urlOf(path: string): string {
  return new URL(path, ROOT).href;
}

/** The path of an address of this server, with a slash first; undefined for other servers. */
export function pathOf(url: URL): string | undefined {
  if (url.origin !== ROOT.origin || !url.pathname.startsWith(ROOT.pathname)) return undefined;
  return `/${url.pathname.slice(ROOT.pathname.length)}`;
}

/** The sign-in page, which then leads back here. */
export function signInUrl(): string {
  const here = location.href.slice(ROOT.href.length);
  return urlOf(`sign-in?next=${encodeURIComponent(here)}`);
}
