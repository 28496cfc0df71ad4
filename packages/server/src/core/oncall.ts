/** On-call schedules: their sources, the shifts of a rota, and who is on call at a time. */

import { zoneOffset } from "@countersign/review-api/time-zone";

export const SOURCE_KINDS = ["static", "ical", "pagerduty", "opsgenie"] as const;

export type SourceKind = (typeof SOURCE_KINDS)[number];

/** Reviewers in turn. A handover stays at its local time across clock changes. */
export interface StaticRota {
  readonly kind: "static";
  /** Names of reviewers. */
  readonly reviewers: readonly string[];
  /** Start of the first shift, epoch ms. */
  readonly startsAt: number;
  /** Length of a shift in days. */
  readonly days: number;
  /** Name from the IANA database. */
  readonly timeZone: string;
}

/** Where the server fetches the shifts. Encrypted when stored. */
export type RemoteSource =
  | { readonly kind: "ical"; readonly url: string }
  | {
      readonly kind: "pagerduty" | "opsgenie";
      /** Base URL of the API, without a trailing slash. */
      readonly url: string;
      readonly schedule: string;
      readonly token: string;
    };

export type ScheduleSource = StaticRota | RemoteSource;

/** A time in which a person is on call. */
export interface Shift {
  /** Id or address of the source; with a static rota, the name of the reviewer. */
  readonly who: string;
  /** Epoch ms. */
  readonly from: number;
  readonly until: number;
}

/** Shifts that overlap it are read. */
export interface ShiftWindow {
  /** Epoch ms. */
  readonly from: number;
  readonly until: number;
}

/** The shifts of an older fetch do not count. */
export const SHIFTS_VALID_MS = 3_600_000;

/** How far fetched shifts reach. Longer than they are valid. */
export const SHIFTS_AHEAD_MS = 24 * 3_600_000;

export const SCHEDULES_PER_PROJECT_MAX = 50;
export const REVIEWERS_PER_ROTA_MAX = 100;
export const ROTA_DAYS_MAX = 366;

/** Each person once, in the order of the shifts. */
export function whoIsOnCall(shifts: readonly Shift[], now: number): readonly string[] {
  const current = shifts.filter(({ from, until }) => from <= now && now < until);
  return [...new Set(current.map(({ who }) => who))];
}

/** @returns undefined before the first shift */
export function rotaReviewer(rota: StaticRota, now: number): string | undefined {
  const { reviewers, startsAt, days, timeZone } = rota;
  if (now < startsAt) return undefined;
  const [start, current] = [wallClock(startsAt, timeZone), wallClock(now, timeZone)];
  // Before the hour of the handover, the day belongs to the earlier shift.
  const isBefore = current.msOfDay < start.msOfDay ? 1 : 0;
  const passed = Math.floor((current.day - start.day - isBefore) / days);
  return reviewers[Math.max(0, passed) % reviewers.length];
}

const DAY_MS = 24 * 3_600_000;

interface WallClock {
  /** Since 1970-01-01, in the time zone. */
  readonly day: number;
  readonly msOfDay: number;
}

function wallClock(at: number, timeZone: string): WallClock {
  const local = at + zoneOffset(at, timeZone);
  const day = Math.floor(local / DAY_MS);
  return { day, msOfDay: local - day * DAY_MS };
}
