/**
 * A long list that the server returns page by page. Only the pages near the visible rows stay in
 * memory. Of a distant page only the cursor is kept, and the page is read again when needed.
 * Independent of the item type and of rendering (see windowed-list.tsx).
 */

import { signal } from "@preact/signals";

export interface CursorPage<T> {
  readonly items: readonly T[];
  /** Where the page after it begins; null behind the last one. */
  readonly next: string | null;
}

/** @param after the cursor; undefined for the first page */
export type LoadPage<T> = (after: string | undefined, stop: AbortSignal) => Promise<CursorPage<T>>;

interface CachedPage<T> {
  readonly after: string | undefined;
  /** Place of its first item in the whole list. */
  readonly start: number;
  readonly size: number;
  /** Undefined when they were forgotten. */
  items: readonly T[] | undefined;
}

/** Pages kept around the visible rows. */
const KEPT_PAGES = 12;

/** So many places before its end more is asked for. */
const AHEAD = 60;

/** This many empty pages in a row are skipped automatically. */
const EMPTY_PAGES = 5;

export class CursorPages<T> {
  /** Grows with every change: read it where the list is drawn. */
  readonly version = signal(0);
  /** Why the last page did not come; it is tried again by {@link retry}. */
  error: unknown;

  readonly #load: LoadPage<T>;
  readonly #stop = new AbortController();
  readonly #pages: CachedPage<T>[] = [];
  #next: string | null | undefined;
  #isLoading = false;
  #emptyInARow = 0;

  constructor(load: LoadPage<T>) {
    this.#load = load;
  }

  /** How many items are known of so far. */
  get count(): number {
    const last = this.#pages.at(-1);
    return last === undefined ? 0 : last.start + last.size;
  }

  /** Whether nothing comes behind what is known of. */
  get isComplete(): boolean {
    return this.#next === null;
  }

  get isLoading(): boolean {
    return this.#isLoading;
  }

  /** Whether it has stopped at empty pages, until {@link loadMore}. */
  get isResting(): boolean {
    return !this.isComplete && this.#emptyInARow >= EMPTY_PAGES;
  }

  /** Undefined while its page is on the way. */
  itemAt(index: number): T | undefined {
    const page = this.#pages[this.#pageAt(index)];
    return page?.items?.[index - page.start];
  }

  /** Sees to it that these places are there, and that more comes behind the last one. */
  want(first: number, last: number): void {
    if (this.#isLoading || this.error !== undefined || this.#stop.signal.aborted) return;
    const missing = this.#missing(first, last);
    if (missing !== undefined) void this.#fill(missing);
    else if (last + AHEAD >= this.count && !this.isComplete && !this.isResting) void this.#append();
    this.#forget(first, last);
  }

  retry(): void {
    this.error = undefined;
    this.#changed();
  }

  loadMore(): void {
    this.#emptyInARow = 0;
    this.#changed();
  }

  /** Takes a change of one item in, where it is still known. */
  replace(isIt: (item: T) => boolean, change: (item: T) => T): void {
    for (const page of this.#pages) {
      if (page.items?.some(isIt)) page.items = page.items.map((it) => (isIt(it) ? change(it) : it));
    }
    this.#changed();
  }

  /** Nothing more is asked for. */
  stop(): void {
    this.#stop.abort();
  }

  #pageAt(index: number): number {
    let low = 0;
    let high = this.#pages.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const { start, size } = this.#pages[middle] as CachedPage<T>;
      if (index < start) high = middle - 1;
      else if (index >= start + size) low = middle + 1;
      else return middle;
    }
    return -1;
  }

  #missing(first: number, last: number): CachedPage<T> | undefined {
    return this.#pages.find(
      ({ start, size, items }) => items === undefined && start <= last && start + size > first,
    );
  }

  #forget(first: number, last: number): void {
    const middle = this.#pageAt(Math.floor((first + Math.min(last, this.count - 1)) / 2));
    if (middle < 0) return;
    this.#pages.forEach((page, at) => {
      // The first page has no cursor: asked for again it would be another one.
      if (at > 0 && Math.abs(at - middle) > KEPT_PAGES) page.items = undefined;
    });
  }

  async #append(): Promise<void> {
    const after = this.#next ?? undefined;
    await this.#exchange(after, ({ items, next }) => {
      this.#pages.push({ after, start: this.count, size: items.length, items });
      this.#next = next;
      this.#emptyInARow = items.length === 0 ? this.#emptyInARow + 1 : 0;
    });
  }

  async #fill(page: CachedPage<T>): Promise<void> {
    await this.#exchange(page.after, ({ items }) => {
      // Rows purged in the meantime leave empty places, so no row moves.
      page.items = items.slice(0, page.size);
    });
  }

  async #exchange(after: string | undefined, take: (page: CursorPage<T>) => void): Promise<void> {
    this.#isLoading = true;
    try {
      take(await this.#load(after, this.#stop.signal));
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.error = error;
    } finally {
      this.#isLoading = false;
    }
    this.#changed();
  }

  #changed(): void {
    this.version.value++;
  }
}
