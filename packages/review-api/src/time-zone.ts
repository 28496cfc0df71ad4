/** Time zones, for the server and the console. */

/**
 * The offset of a time zone from UTC, ms.
 *
 * @param at epoch ms
 * @param timeZone a name of the IANA database; undefined: the zone of this computer
 */
export function zoneOffset(at: number, timeZone: string | undefined): number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
  const local = Date.UTC(
    part("year"),
    part("month") - 1,
    part("day"),
    part("hour"),
    part("minute"),
    part("second"),
  );
  return local - Math.floor(at / 1_000) * 1_000;
}
