/**
 * Pages of a long list that are still there when the reader comes back with the browser's Back:
 * what was loaded, and where they were. A link opens the list anew.
 */

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { CursorPages, type LoadPage } from "./cursor-pages.ts";

interface Kept {
  readonly key: string;
  readonly pages: CursorPages<unknown>;
  scrollY: number;
}

/** By the mark in their entry of the browser's history; the last few of them. */
const kept = new Map<string, Kept>();
const KEPT_LISTS = 4;

let marks = 0;

function mark(): string | undefined {
  return (history.state as { readonly list?: string } | null)?.list;
}

/** @param key of what is listed: another one begins anew */
export function useKeptPages<T>(key: string, load: LoadPage<T>): CursorPages<T> {
  const latest = useRef(load);
  latest.current = load;
  const list = useMemo(() => {
    const before = kept.get(mark() ?? "");
    if (before?.key === key) return before;
    return { key, pages: new CursorPages<unknown>((...all) => latest.current(...all)), scrollY: 0 };
  }, [key]);
  useLayoutEffect(() => {
    const ownMark = kept.get(mark() ?? "") === list ? (mark() ?? "") : begin(list);
    if (list.scrollY > 0) scrollTo(0, list.scrollY);
    // Behind a link the page scrolls to its top before this list is gone.
    const note = () => {
      if (mark() === ownMark) list.scrollY = scrollY;
    };
    addEventListener("scroll", note, { passive: true });
    return () => removeEventListener("scroll", note);
  }, [list]);
  return list.pages as CursorPages<T>;
}

function begin(list: Kept): string {
  // A reloaded page counts from one again. The time distinguishes its marks from earlier ones.
  const own = `${performance.timeOrigin} ${++marks}`;
  history.replaceState({ ...history.state, list: own }, "");
  kept.set(own, list);
  for (const [old, { pages }] of [...kept].slice(0, -KEPT_LISTS)) {
    pages.stop();
    kept.delete(old);
  }
  return own;
}
