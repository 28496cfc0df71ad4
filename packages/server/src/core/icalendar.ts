/**
 * Shifts in a calendar: each event is a shift of its attendees, or else of its title.
 *
 * @see RFC 5545
 */

import type { Attendee, CalendarComponent, ParameterValue, VEvent } from "node-ical";
import type { Shift, ShiftWindow } from "./oncall.ts";

/** Limits the work for one calendar. */
const EVENTS_MAX = 5_000;

/** @throws Error for text that is not a calendar, or one with too many events */
export async function readShifts(text: string, window: ShiftWindow): Promise<readonly Shift[]> {
  if (!/^\uFEFF?BEGIN:VCALENDAR\r?\n/.test(text)) throw new Error("the text is not a calendar");
  // Loaded on demand: most servers read no calendar.
  const { default: ical } = await import("node-ical");
  const events = Object.values(ical.sync.parseICS(text)).filter(isEvent);
  if (events.length > EVENTS_MAX) throw new Error("the calendar has too many events");
  const range = {
    from: new Date(window.from),
    to: new Date(window.until),
    expandOngoing: true,
  };
  return events.flatMap((event) =>
    ical
      .expandRecurringEvent(event, range)
      .filter((instance) => instance.event.status !== "CANCELLED")
      .flatMap((instance) => {
        const [from, until] = [instance.start.getTime(), instance.end.getTime()];
        if (until <= window.from || from >= window.until) return [];
        return peopleOf(instance.event).map((who) => ({ who, from, until }));
      }),
  );
}

function isEvent(component: CalendarComponent | undefined): component is VEvent {
  return component?.type === "VEVENT";
}

function peopleOf({ attendee, summary }: VEvent): string[] {
  const attendees = attendee === undefined ? [] : [attendee].flat();
  if (attendees.length > 0) return attendees.map(addressOf);
  const title = textOf(summary).trim();
  return title === "" ? [] : [title];
}

function addressOf(attendee: Attendee): string {
  return textOf(attendee)
    .replace(/^mailto:/i, "")
    .toLowerCase();
}

/** A value, or one with parameters. */
function textOf(value: ParameterValue | Attendee | undefined): string {
  if (typeof value === "object" && value !== null) return String(value.val);
  return String(value ?? "");
}
