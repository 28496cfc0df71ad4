import assert from "node:assert/strict";
import { test } from "node:test";
import { readShifts } from "./icalendar.ts";

const WINDOW = {
  from: Date.parse("2026-04-06T10:00:00Z"),
  until: Date.parse("2026-04-07T10:00:00Z"),
};

function calendar(...events: readonly string[]): string {
  const body = events.map(
    (event) => `BEGIN:VEVENT\nDTSTAMP:20260101T000000Z\n${event}\nEND:VEVENT`,
  );
  return ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:test", ...body, "END:VCALENDAR"]
    .join("\n")
    .replaceAll("\n", "\r\n");
}

async function shifts(...events: readonly string[]) {
  const read = await readShifts(calendar(...events), WINDOW);
  return read.map(({ who, from, until }) => {
    return `${who} ${new Date(from).toISOString()} ${new Date(until).toISOString()}`;
  });
}

test("[ours.oncall.ical] attendees are on call, and without them the title", async () => {
  const times = "DTSTART:20260406T080000Z\nDTEND:20260406T200000Z";
  const invited = `UID:1\n${times}\nSUMMARY:Primary\nATTENDEE;CN=Ana:mailto:Ana@Example.com`;
  assert.deepEqual(await shifts(invited, `UID:2\n${times}\nSUMMARY:Ben`), [
    "ana@example.com 2026-04-06T08:00:00.000Z 2026-04-06T20:00:00.000Z",
    "Ben 2026-04-06T08:00:00.000Z 2026-04-06T20:00:00.000Z",
  ]);
});

test("[ours.oncall.ical] events repeat at the local time of their zone, without their exceptions", async () => {
  const start =
    "DTSTART;TZID=Europe/Berlin:20260105T090000\nDTEND;TZID=Europe/Berlin:20260105T170000";
  const weekly = `UID:1\n${start}\nRRULE:FREQ=WEEKLY;BYDAY=MO,TU\nSUMMARY:Ana`;
  // Summer time: 09:00 is 07:00 UTC.
  assert.deepEqual(await shifts(weekly), [
    "Ana 2026-04-06T07:00:00.000Z 2026-04-06T15:00:00.000Z",
    "Ana 2026-04-07T07:00:00.000Z 2026-04-07T15:00:00.000Z",
  ]);
  const excepted = `${weekly}\nEXDATE;TZID=Europe/Berlin:20260407T090000`;
  assert.deepEqual(await shifts(excepted), [
    "Ana 2026-04-06T07:00:00.000Z 2026-04-06T15:00:00.000Z",
  ]);
});

test("[ours.oncall.ical] a changed occurrence has its own people and times", async () => {
  const start = "DTSTART:20260405T120000Z\nDTEND:20260406T120000Z";
  const daily = `UID:1\n${start}\nRRULE:FREQ=DAILY\nSUMMARY:Ana`;
  const moved =
    "UID:1\nRECURRENCE-ID:20260406T120000Z\nDTSTART:20260406T130000Z\n" +
    "DTEND:20260407T120000Z\nSUMMARY:Ben";
  assert.deepEqual(await shifts(daily, moved), [
    "Ana 2026-04-05T12:00:00.000Z 2026-04-06T12:00:00.000Z",
    "Ben 2026-04-06T13:00:00.000Z 2026-04-07T12:00:00.000Z",
  ]);
});

test("[ours.oncall.ical] cancelled events and events outside of the window are omitted", async () => {
  const times = "DTSTART:20260406T080000Z\nDTEND:20260406T200000Z";
  const past = "UID:2\nDTSTART:20260301T080000Z\nDTEND:20260301T200000Z\nSUMMARY:Ana";
  assert.deepEqual(await shifts(`UID:1\n${times}\nSTATUS:CANCELLED\nSUMMARY:Ana`, past), []);
});

test("[ours.oncall.ical] all-day events, and calendars without an end of the repetition, are read", async () => {
  const allDay = "UID:1\nDTSTART;VALUE=DATE:20260406\nDTEND;VALUE=DATE:20260407\nSUMMARY:Ana";
  const [shift = ""] = await shifts(allDay);
  assert.match(shift, /^Ana 2026-04-0\dT/);
});

test("[ours.oncall.ical] text that is not a calendar is an error", async () => {
  for (const text of ["", "<html></html>", "BEGIN:VCARD\r\nEND:VCARD\r\n"]) {
    await assert.rejects(readShifts(text, WINDOW));
  }
});
