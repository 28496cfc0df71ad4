/**
 * Keeps the visible content in place while rows come and go above it: the row that they are
 * on, or the first one that they see.
 */

import { useCallback, useEffect, useLayoutEffect, useRef } from "preact/hooks";

interface Anchor {
  readonly row: HTMLElement;
  /** From the top of the window, px. */
  readonly top: number;
}

/** A click on a row that has just moved is ignored. */
const SETTLE_MS = 300;

export interface Settled {
  /** Whether nothing has moved for a moment. */
  isSettled(): boolean;
}

type Scope = { readonly current: HTMLElement | null };

/**
 * @param scope holds the rows
 * @param shown changes whenever rows may have moved
 */
export function useAnchor(scope: Scope, shown: unknown): Settled {
  const anchor = useRef<Anchor | undefined>(undefined);
  const movedAt = useRef(Number.NEGATIVE_INFINITY);

  const arranged = useRef<unknown>(undefined);

  const remember = useCallback(() => {
    const row = rowOf(scope.current);
    anchor.current = row === undefined ? undefined : { row, top: row.getBoundingClientRect().top };
  }, [scope]);

  useEffect(() => {
    // The list or the window scrolls: a captured event is seen from both.
    addEventListener("scroll", remember, { passive: true, capture: true });
    addEventListener("resize", remember);
    document.addEventListener("focusin", remember);
    return () => {
      removeEventListener("scroll", remember, { capture: true });
      removeEventListener("resize", remember);
      document.removeEventListener("focusin", remember);
    };
  }, [remember]);

  useLayoutEffect(() => {
    if (arranged.current === shown) return;
    arranged.current = shown;
    const before = anchor.current;
    if (scope.current !== null) {
      // Without its rows, a list must not stay as long as it was.
      scope.current.style.minHeight = "";
      const isMoved = before?.row.isConnected
        ? restore(scope.current, before)
        : before !== undefined;
      if (isMoved) movedAt.current = performance.now();
    }
    remember();
  }, [scope, shown, remember]);

  return { isSettled: () => performance.now() - movedAt.current >= SETTLE_MS };
}

/** Scrolls so that the row is where it was. @returns whether it had moved */
function restore(scope: HTMLElement, { row, top }: Anchor): boolean {
  const by = row.getBoundingClientRect().top - top;
  if (Math.abs(by) < 1) return false;
  const scroller = scrollerOf(scope);
  // A short page is made long enough to be scrolled so far.
  const lacks = scroller.scrollTop + by + scroller.clientHeight - scroller.scrollHeight;
  if (lacks > 0) scope.style.minHeight = `${Math.ceil(scope.offsetHeight + lacks)}px`;
  scroller.scrollBy({ top: by, behavior: "instant" });
  return true;
}

/** The pane of the list scrolls by itself beside an open request; otherwise the window scrolls. */
function scrollerOf(scope: HTMLElement): Element {
  const pane = scope.closest("[data-scroller]");
  const scrolls = pane !== null && getComputedStyle(pane).overflowY === "auto";
  return scrolls ? pane : document.documentElement;
}

function rowOf(scope: HTMLElement | null): HTMLElement | undefined {
  if (scope === null) return undefined;
  const focused = document.activeElement?.closest<HTMLElement>(".row");
  if (focused && scope.contains(focused)) return focused;
  const scroller = scrollerOf(scope);
  const current = scope.querySelector<HTMLElement>(".row.current");
  if (current !== null && isSeen(current)) return current;
  // At the top, new rows stay visible.
  if (scroller.scrollTop === 0) return undefined;
  return [...scope.querySelectorAll<HTMLElement>(".row")].find(
    (row) => row.getBoundingClientRect().bottom > 0,
  );
}

function isSeen(row: HTMLElement): boolean {
  const { top, bottom } = row.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}
