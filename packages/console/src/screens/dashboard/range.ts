/** The ranges of the dashboard, and links to their rows in the history. */

import { t } from "../../language/t.ts";
import { startOfDay, startOfHour } from "../../parts/calendar.ts";

const HOUR_MS = 3_600_000;

export type RangeName = "24h" | "7d" | "30d";

export interface Range {
  readonly name: RangeName;
  readonly label: string;
  readonly bucket: "hour" | "day";
  readonly buckets: number;
}

export const RANGES: readonly Range[] = [
  { name: "24h", label: t`24 hours`, bucket: "hour", buckets: 24 },
  { name: "7d", label: t`7 days`, bucket: "day", buckets: 7 },
  { name: "30d", label: t`30 days`, bucket: "day", buckets: 30 },
];

const DEFAULT = RANGES[1] as Range;

/** The range in the address. */
export function rangeOf(query: URLSearchParams): Range {
  return RANGES.find(({ name }) => name === query.get("range")) ?? DEFAULT;
}

/** The start of the first hour or day of the reader's calendar. @param now epoch ms */
export function startOf({ bucket, buckets }: Range, now: number): Date {
  const start =
    bucket === "hour" ? startOfHour(now) - (buckets - 1) * HOUR_MS : startOfDay(now, buckets - 1);
  return new Date(start);
}

/** The path of the history from the start of a range, with these filters. */
export function historyPath(since: string, filters: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams({ ...filters, from: since });
  return `/history?${query}`;
}
