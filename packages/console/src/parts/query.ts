/**
 * Filters in the address: they can be shared, survive a reload, and are in the browser history.
 */

import { go, route } from "../route.ts";
import { startOfDate } from "./calendar.ts";

/** Names of the query and their values; what is empty is taken out. */
export type QueryChange = Readonly<Record<string, string>>;

/** Opens the same screen with parts of its query changed; the others stay. */
export function changeQuery(change: QueryChange): void {
  const { path, query } = route.value;
  const changed = new URLSearchParams(query);
  for (const [name, value] of Object.entries(change)) {
    if (value === "") changed.delete(name);
    else changed.set(name, value);
  }
  if (changed.toString() === query.toString()) return;
  go(pathWith(path, changed));
}

/** A path with what of a query is not empty. */
export function pathWith(path: string, query: URLSearchParams): string {
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}

/**
 * The moment at which a day begins for the reader, as the server reads times; undefined when the
 * text is not a valid day.
 *
 * @param day like `2026-11-22`
 * @param later days to add
 */
export function dayStart(day: string, later = 0): string | undefined {
  const start = startOfDate(day, later);
  return start === undefined ? undefined : new Date(start).toISOString();
}
