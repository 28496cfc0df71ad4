/**
 * The log of a server for a person at a terminal: one short line for each event. A single exchange
 * is shown only if it failed or `log_level` is debug.
 */

import { visibleText } from "./visible-text.ts";

/** The start output and the last line say the same. */
const OMITTED = ["server.started", "setup.needed", "server.stopping", "server.stopped"];

interface LogLine {
  readonly level: string;
  readonly time: number;
  readonly event?: string;
  readonly [field: string]: unknown;
}

/** A stream for log lines in JSON. */
export function readableLog(
  print: (line: string) => void,
  isDebug: boolean,
): { write(text: string): void } {
  return {
    write(text) {
      for (const source of text.trimEnd().split("\n")) {
        const line = JSON.parse(source) as LogLine;
        // Of the audit stream, which is for programs.
        if (line.event === undefined) print(source);
        else if (isShown(line, isDebug)) print(render(line));
      }
    },
  };
}

function isShown({ level, event = "", http_status: status }: LogLine, isDebug: boolean): boolean {
  if (level === "warn" || level === "error" || isDebug) return true;
  if (event === "exchange.ended") return Number(status) >= 500;
  return !OMITTED.includes(event);
}

function render({ level, time, event = "", ...fields }: LogLine): string {
  const clock = new Date(time).toTimeString().slice(0, 8);
  const label = level === "info" ? "" : `${level.toUpperCase()} `;
  const details = Object.entries(fields).map(([name, value]) => `${name}=${String(value)}`);
  return visibleText([clock, label + event, ...details].join("  "));
}
