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

/**
 * @param scope holds the rows
 * @param shown changes whenever rows may have moved
 */
export function useAnchor(
  scope: { readonly current: HTMLElement | null },
  shown: unknown,
): Settled {
  const anchor = useRef<Anchor | undefined>(undefined);
  const movedAt = useRef(Number.NEGATIVE_INFINITY);

  const arranged = useRef<unknown>(undefined);

  const remember = useCallback(() => {
    const row = rowOf(scope.current);
    anchor.current = row === undefined ? undefined : { row, top: row.getBoundingClientRect().top };
  }, [scope]);

  useEffect(() => {
    addEventListener("scroll", remember, { passive: true });
    addEventListener("resize", remember);
    document.addEventListener("focusin", remember);
    return () => {
      removeEventListener("scroll", remember);
      removeEventListener("resize", remember);
      document.removeEventListener("focusin", remember);
    };
  }, [remember]);

  useLayoutEffect(() => {
    if (arranged.current === shown) return;
    arranged.current = shown;
    const element = scope.current;
    const before = anchor.current;
    if (element !== null && before?.row.isConnected) {
      const by = before.row.getBoundingClientRect().top - before.top;
      if (Math.abs(by) >= 1) {
        movedAt.current = performance.now();
        // A short page is made long enough to be scrolled so far.
        element.style.minHeight = "";
        const lacks = scrollY + by + innerHeight - document.documentElement.scrollHeight;
        if (lacks > 0) element.style.minHeight = `${Math.ceil(element.offsetHeight + lacks)}px`;
        scrollBy({ top: by, behavior: "instant" });
      }
    } else if (before !== undefined) movedAt.current = performance.now();
    remember();
  }, [scope, shown, remember]);

  return { isSettled: () => performance.now() - movedAt.current >= SETTLE_MS };
}

function rowOf(scope: HTMLElement | null): HTMLElement | undefined {
  if (scope === null) return undefined;
  const focused = document.activeElement?.closest<HTMLElement>(".row");
  if (focused && scope.contains(focused)) return focused;
  const current = scope.querySelector<HTMLElement>(".row.current");
  if (current !== null && isSeen(current)) return current;
  // At the top, new rows stay visible.
  if (scrollY === 0) return undefined;
  return [...scope.querySelectorAll<HTMLElement>(".row")].find(
    (row) => row.getBoundingClientRect().bottom > 0,
  );
}

function isSeen(row: HTMLElement): boolean {
  const { top, bottom } = row.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}
