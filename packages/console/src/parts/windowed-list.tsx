/**
 * A list of any length, of which only what can be seen is in the page: rows of one height, under
 * the scroll bar of the window. More is asked for when its end comes near.
 */

import "./windowed-list.css";
import type { ComponentChildren, VNode } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { t } from "../language/t.ts";
import { Button } from "./button.tsx";
import type { CursorPages } from "./cursor-pages.ts";
import { Fault } from "./notice.tsx";

export interface WindowedListProps<T> {
  /** Name of the list for screen readers. */
  readonly label: string;
  readonly pages: CursorPages<T>;
  /** Height of every row, in rem: on a desk, and on a phone. */
  readonly rowRem: { readonly wide: number; readonly narrow: number };
  row(item: T): ComponentChildren;
  /** The content of an empty list. */
  readonly empty: ComponentChildren;
}

/** Rows beyond the edges, so that scrolling and the Tab key find the next ones. */
const BEYOND = 12;

/** Rows that come and go together while it is scrolled: few enough for one frame. */
const STEP = 4;

const NARROW = matchMedia("(max-width: 40rem)");

interface Window {
  readonly first: number;
  readonly last: number;
}

export function WindowedList<T>({ label, pages, rowRem, row, empty }: WindowedListProps<T>) {
  const list = useRef<HTMLOListElement>(null);
  const rowPx = useRowPx(rowRem);
  const [focused, setFocused] = useState<number>();
  const { first, last } = useWindow(list, rowPx);
  // A loaded page may make further pages necessary.
  useEffect(() => pages.version.subscribe(() => pages.want(first, last)), [pages, first, last]);
  // The list renders again with each change of its pages.
  void pages.version.value;
  const { count, isLoading, isComplete, error } = pages;
  const shown: number[] = [];
  for (let at = Math.max(0, first); at <= Math.min(last, count - 1); at++) shown.push(at);
  // The focused row stays in the page, however far it is scrolled away.
  if (focused !== undefined && focused < count && !shown.includes(focused)) shown.push(focused);
  const place = usePlaces(pages, row, rowPx, shown);
  if (count === 0 && isComplete) return <>{empty}</>;
  return (
    <>
      <ol
        ref={list}
        class="windowed"
        aria-label={label}
        aria-busy={isLoading}
        style={{ height: `${count * rowPx}px` }}
        onFocusIn={(event) => setFocused(placeOf(event.target))}
        onFocusOut={() => setFocused(undefined)}
      >
        {shown.map(place)}
      </ol>
      <ListEnd pages={pages} />
      {error !== undefined && <Fault error={error} onRetry={() => pages.retry()} />}
    </>
  );
}

interface Place<T> {
  readonly item: T | undefined;
  readonly row: WindowedListProps<T>["row"];
  readonly rowPx: number;
  readonly total: number;
  readonly node: VNode;
}

/**
 * Creates the items of the list. An unchanged item keeps its object, so that Preact does not
 * compare it again: scrolling costs time for new rows only.
 */
function usePlaces<T>(
  pages: CursorPages<T>,
  row: WindowedListProps<T>["row"],
  rowPx: number,
  shown: readonly number[],
): (at: number) => VNode {
  const total = pages.isComplete ? pages.count : -1;
  const { current: made } = useRef(new Map<number, Place<T>>());
  for (const at of made.keys()) if (!shown.includes(at)) made.delete(at);
  return (at) => {
    const item = pages.itemAt(at);
    const before = made.get(at);
    const isSame = before?.item === item && before?.row === row;
    if (isSame && before?.rowPx === rowPx && before.total === total) return before.node;
    const node = (
      <li
        key={at}
        data-at={at}
        aria-posinset={at + 1}
        aria-setsize={total}
        style={{ height: `${rowPx}px`, transform: `translateY(${at * rowPx}px)` }}
      >
        {item !== undefined && row(item)}
      </li>
    );
    made.set(at, { item, row, rowPx, total, node });
    return node;
  };
}

function ListEnd<T>({ pages }: { readonly pages: CursorPages<T> }) {
  if (pages.error !== undefined) return null;
  if (pages.isResting && !pages.isLoading) {
    return (
      <div class="list-end">
        <Button onPress={() => pages.loadMore()}>{t`Load older entries`}</Button>
      </div>
    );
  }
  if (pages.isComplete) return null;
  return (
    <p class="list-end hint" role="status">
      {t`Loading…`}
    </p>
  );
}

function placeOf(target: EventTarget | null): number | undefined {
  const item = target instanceof Element ? target.closest("li") : null;
  return item?.dataset.at === undefined ? undefined : Number(item.dataset.at);
}

/** Rows grow with the reader's size of text. */
function useRowPx({ wide, narrow }: WindowedListProps<unknown>["rowRem"]): number {
  const [isNarrow, setNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const listen = () => setNarrow(NARROW.matches);
    NARROW.addEventListener("change", listen);
    return () => NARROW.removeEventListener("change", listen);
  }, []);
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  return Math.round((isNarrow ? narrow : wide) * rem);
}

/** Which rows are near what can be seen. */
function useWindow(list: { readonly current: Element | null }, rowPx: number): Window {
  const [seen, setSeen] = useState<Window>({ first: 0, last: 2 * BEYOND });
  const look = useCallback(() => {
    const top = list.current === null ? 0 : -list.current.getBoundingClientRect().top;
    // In steps, so that not every pixel of scrolling draws anew.
    const step = (at: number) => Math.floor(at / rowPx / STEP) * STEP;
    const first = Math.max(0, step(top) - BEYOND);
    const last = step(top + innerHeight) + STEP + BEYOND - 1;
    setSeen((before) =>
      before.first === first && before.last === last ? before : { first, last },
    );
  }, [list, rowPx]);
  useLayoutEffect(() => {
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [look]);
  return seen;
}
