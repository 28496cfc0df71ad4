/** How the times of the console are printed. */

import type { ConsoleTimes } from "./console.ts";
import type { Spread } from "./statistics.ts";
import { ms, perSecond, table } from "./table.ts";

export function consoleTables(times: ConsoleTimes): string[] {
  const { pending, firstList, againList, arrival, stored, scrolls } = times;
  const cells = ({ p50, p99, max }: Spread) => [ms(p50), ms(p99), ms(max)];
  return [
    table([
      [`the console, ${pending} pending`, "p50 ms", "p99 ms", "max ms"],
      ["first list, nothing kept", ...cells(firstList)],
      ["first list, opened before", ...cells(againList)],
      ["request sent to row drawn", ...cells(arrival)],
    ]),
    table([
      [
        `frames over ${perSecond(stored)} requests of history`,
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "max ms",
        "CPU ms",
        "scripts",
        "rows passed",
        "at once",
        "s",
      ],
      ...scrolls.map(({ what, frames, seconds, cpuMs, scriptMs, rowsMax, rows }) => [
        what,
        ms(frames.p50),
        ms(frames.p95),
        ms(frames.p99),
        ms(frames.max),
        ms(cpuMs),
        ms(scriptMs),
        perSecond(rows),
        String(rowsMax),
        seconds.toFixed(1),
      ]),
    ]),
  ];
}
