/** Checks of the built HTML: links and anchors have targets, and no page loads from elsewhere. */

import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";

/** Path of the site on its host, with a slash at both ends. */
export const BASE = process.env.SITE_BASE ?? "/";

/** @returns what is wrong, one sentence for each fault */
export function checkBuiltSite(dist: string): string[] {
  const names = globSync("**/*.{html,css,js}", { cwd: dist });
  const texts = new Map(names.map((name) => [name, readFileSync(join(dist, name), "utf8")]));
  const faults: string[] = [];
  for (const [name, text] of texts) {
    faults.push(...loadedFromElsewhere(name, text));
    if (name.endsWith(".html")) faults.push(...brokenLinks(dist, name, texts));
  }
  return faults.sort();
}

const LOADED_BY_HTML =
  /<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc="(https?:)?\/\/[^"]*"/g;
const LINKED_BY_HTML = /<link\b[^>]*\bhref="(https?:)?\/\/[^"]*"/g;
const LOADED_BY_CSS = /url\(["']?(https?:)?\/\/[^)]*\)|@import\s+["'](https?:)?\/\//g;

/** URLs on other hosts that a browser would fetch without a click. */
export function loadedFromElsewhere(name: string, text: string): string[] {
  const patterns = name.endsWith(".html")
    ? [LOADED_BY_HTML, LINKED_BY_HTML]
    : name.endsWith(".css")
      ? [LOADED_BY_CSS]
      : [];
  return patterns.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([found]) => `${name}: loads from another host: ${found}`),
  );
}

const IDENTIFIER = /\bid="([^"]*)"/g;

function brokenLinks(dist: string, name: string, texts: ReadonlyMap<string, string>): string[] {
  const faults: string[] = [];
  // Pages that are not found have no links to check, and scripts contain examples of HTML.
  const html = (texts.get(name) ?? "").replace(/<script\b[\s\S]*?<\/script>/g, "");
  for (const [, href = ""] of html.matchAll(/<a\b[^>]*\bhref="([^"]*)"/g)) {
    const link = decodeURI(href.replaceAll("&amp;", "&"));
    if (/^[a-z][a-z+.-]*:/i.test(link)) continue;
    const [path = "", anchor = ""] = link.split("#");
    const file = path === "" ? name : targetOf(dist, name, path);
    if (file === undefined) faults.push(`${name}: ${href}: the target does not exist`);
    else if (anchor !== "" && !hasAnchor(texts.get(file), anchor)) {
      faults.push(`${name}: ${href}: ${file} has no such anchor`);
    }
  }
  return faults;
}

function targetOf(dist: string, from: string, path: string): string | undefined {
  const inside = path.startsWith(BASE)
    ? path.slice(BASE.length)
    : posix.join(posix.dirname(from), path);
  const candidates = [inside, `${inside}.html`, posix.join(inside, "index.html")];
  return candidates.find((each) => {
    const file = join(dist, each);
    return existsSync(file) && statSync(file).isFile();
  });
}

function hasAnchor(html: string | undefined, anchor: string): boolean {
  if (html === undefined) return false;
  return [...html.matchAll(IDENTIFIER)].some(([, id]) => id === anchor);
}
