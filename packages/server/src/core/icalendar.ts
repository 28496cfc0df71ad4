/**
 * Shifts in a calendar: each event is a shift of its attendees, or else of its title.
 *
 * @see RFC 5545
 */

import type ICAL from "ical.js";
import { fromWallClock, type Shift, type ShiftWindow } from "./oncall.ts";
import { isTimeZone } from "./quiet-hours.ts";

type Component = InstanceType<typeof ICAL.Component>;
type Event = InstanceType<typeof ICAL.Event>;
type Time = InstanceType<typeof ICAL.Time>;

/** Limits the work for one calendar: occurrences of one event, and events. */
const OCCURRENCES_MAX = 10_000;
const EVENTS_MAX = 5_000;

/** @throws Error for text that is not a calendar, or one with too many events */
export async function readShifts(text: string, window: ShiftWindow): Promise<readonly Shift[]> {
  // Loaded on demand: most servers read no calendar.
  const { default: ICAL } = await import("ical.js");
  const calendar = new ICAL.Component(ICAL.parse(text) as unknown[]);
  if (calendar.name !== "vcalendar") throw new Error("the text is not a calendar");
  for (const zone of calendar.getAllSubcomponents("vtimezone")) {
    ICAL.TimezoneService.register(zone);
  }
  const components = calendar.getAllSubcomponents("vevent");
  if (components.length > EVENTS_MAX) throw new Error("the calendar has too many events");
  const events = components
    .filter((component) => component.getFirstPropertyValue("status") !== "CANCELLED")
    .map((component) => new ICAL.Event(component));
  const exceptions = events.filter((event) => event.isRecurrenceException());
  const masters = events.filter((event) => !event.isRecurrenceException());
  for (const master of masters) {
    for (const exception of exceptions) {
      if (exception.uid === master.uid) master.relateException(exception);
    }
  }
  return masters.flatMap((master) => shiftsOf(master, window));
}

function shiftsOf(event: Event, window: ShiftWindow): Shift[] {
  if (!event.isRecurring()) return shiftsAt(event, event.startDate, event.endDate, window);
  const shifts: Shift[] = [];
  const occurrences = event.iterator();
  for (let count = 0; count < OCCURRENCES_MAX; count++) {
    const next = occurrences.next();
    if (next === null || next === undefined) return shifts;
    const { item, startDate, endDate } = event.getOccurrenceDetails(next);
    if (epochOf(startDate, item.component) >= window.until) return shifts;
    shifts.push(...shiftsAt(item, startDate, endDate, window));
  }
  throw new Error("an event of the calendar has too many occurrences");
}

function shiftsAt(event: Event, startDate: Time, endDate: Time, window: ShiftWindow): Shift[] {
  const from = epochOf(startDate, event.component);
  const until = epochOf(endDate, event.component);
  if (until <= window.from || from >= window.until) return [];
  return peopleOf(event.component).map((who) => ({ who, from, until }));
}

function peopleOf(event: Component): string[] {
  const attendees = event.getAllProperties("attendee").map((property) => {
    return String(property.getFirstValue())
      .replace(/^mailto:/i, "")
      .toLowerCase();
  });
  if (attendees.length > 0) return attendees;
  const summary = event.getFirstPropertyValue("summary");
  return typeof summary === "string" && summary.trim() !== "" ? [summary.trim()] : [];
}

/** A known time zone counts by its name, because calendars have outdated definitions of it. */
function epochOf(time: Time, event: Component): number {
  const zone = event.getFirstProperty("dtstart")?.getParameter("tzid");
  if (time.zone?.tzid === "UTC" || typeof zone !== "string" || !isTimeZone(zone)) {
    return time.toUnixTime() * 1000;
  }
  const { year, month, day, hour, minute, second } = time;
  return fromWallClock(Date.UTC(year, month - 1, day, hour, minute, second), zone);
}
