/**
 * Requests to sources of on-call schedules, and their answers.
 *
 * @see https://developer.pagerduty.com/api-reference/3a6b910f11050-list-all-of-the-on-calls
 * @see https://docs.opsgenie.com/docs/who-is-on-call-api#get-on-calls
 */

import * as v from "valibot";
import { readShifts } from "./icalendar.ts";
import { type RemoteSource, SHIFTS_AHEAD_MS, type Shift, type ShiftWindow } from "./oncall.ts";

/** A GET. */
export interface SourceRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const SHIFTS_MAX = 100;

export function sourceRequest(source: RemoteSource, now: number): SourceRequest {
  switch (source.kind) {
    case "ical":
      return { url: source.url, headers: { accept: "text/calendar" } };
    case "pagerduty": {
      const query = new URLSearchParams({
        "schedule_ids[]": source.schedule,
        since: new Date(now).toISOString(),
        until: new Date(now + SHIFTS_AHEAD_MS).toISOString(),
        limit: String(SHIFTS_MAX),
      });
      const headers = {
        accept: "application/vnd.pagerduty+json;version=2",
        authorization: `Token token=${source.token}`,
      };
      return { url: `${source.url}/oncalls?${query}`, headers };
    }
    case "opsgenie": {
      const id = encodeURIComponent(source.schedule);
      const headers = {
        accept: "application/json",
        authorization: `GenieKey ${source.token}`,
      };
      return { url: `${source.url}/v2/schedules/${id}/on-calls?flat=true`, headers };
    }
  }
}

/** @throws Error for an answer that is not one of this kind of source */
export async function readSource(
  { kind }: RemoteSource,
  body: Uint8Array,
  now: number,
): Promise<readonly Shift[]> {
  const text = Buffer.from(body).toString("utf8");
  const window = { from: now, until: now + SHIFTS_AHEAD_MS };
  if (kind === "ical") return readShifts(text, window);
  const answer: unknown = JSON.parse(text);
  return kind === "pagerduty" ? readPagerDuty(answer, window) : readOpsgenie(answer, window);
}

const TIME = v.nullish(v.pipe(v.string(), v.isoTimestamp(), v.transform(Date.parse)));

const pagerDutySchema = v.object({
  oncalls: v.array(
    v.object({
      user: v.object({ id: v.string() }),
      /** Null: always on call. */
      start: TIME,
      end: TIME,
    }),
  ),
});

function readPagerDuty(answer: unknown, { from, until }: ShiftWindow): Shift[] {
  const { oncalls } = v.parse(pagerDutySchema, answer);
  return oncalls.map(({ user, start, end }) => {
    return { who: user.id, from: start ?? from, until: end ?? until };
  });
}

const opsgenieSchema = v.object({
  data: v.object({ onCallRecipients: v.array(v.string()) }),
});

/** The answer has the current people only. */
function readOpsgenie(answer: unknown, { from, until }: ShiftWindow): Shift[] {
  const { data } = v.parse(opsgenieSchema, answer);
  return data.onCallRecipients.map((who) => ({ who, from, until }));
}
